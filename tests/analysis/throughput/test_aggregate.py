"""Slices become cells: the arithmetic by hand, and each status by its rule and in its order."""

import numpy as np
import pytest

from analysis.errors import DataError
from analysis.throughput import aggregate
from analysis.throughput.reader import open_runs
from tests.support import run_directories as rd
from tests.support import without_spark
from workloads.arrivals import ArrivalProcess
from workloads.schema import ANCHOR, CAPACITY
from workloads.status import CellStatus, VerdictKind


def read_back(run, folder):
    """The run as it is read, and the slices of its cells."""
    return without_spark.read_back(run.write(folder))


def summarised(run, folder, wrong=(), dropped=()):
    """The run, and its cells by name; `wrong` ones failed their audit, of `dropped` ones copies may be missing."""
    read, windows = read_back(run, folder)
    exact = {key for key in read.cells if key.cell not in {*wrong, *dropped}}
    lossy = {key for key in read.cells if key.cell in dropped}
    cells = aggregate.summarise(read, windows, exact, aggregate.estimated(read, windows), lossy)
    return read, {(cell.key.broker, cell.key.cell): cell for cell in cells}


def windows(run, cell="f0000-r002", **keys):
    """Counted slices, in their order."""
    return run.rows("windows", cell=cell, experiment="replication", status="ok", **keys)


def told(read, cells):
    return list(aggregate.findings(read, list(cells.values())))


LAYOUTS, ROUNDS = 4, 2


@pytest.fixture
def run():
    """Two cells among four anchors, in four layouts of two rounds."""
    return rd.measured_run([(0, 2), (5, 2)], layouts=LAYOUTS, rounds=ROUNDS)


def test_rates_and_times_by_hand(tmp_path, run):
    """Rates are those of B, the ends of its interval change places; CPU and load are totals over the slices."""
    for row, received in zip(windows(run), (10_000, 10_200, 9_800, 10_000) * 2, strict=True):
        row |= {
            "end_ns": row["begin_ns"] + 2 * 10**9,
            "received": received,
            "expected": 2 * received,
            "dispatched": 2 * received,
            "broker_cpu_ns": 1_960_000_000,
            "compiler_cpu_ns": 19_600_000,
            "gc_pause_ns": 40_000_000,
            "full_gc_pause_ns": 20_000_000,
            "load_cpu_ns": 900_000_000,
        }

    _, cells = summarised(run, tmp_path / "run")
    cell = cells["activemq", "f0000-r002"]

    assert cell.processing_s.estimate == pytest.approx(2e-4, rel=0.01)
    assert cell.received_per_s.estimate == pytest.approx(1 / cell.processing_s.estimate)
    assert cell.received_per_s.ci95 == pytest.approx([1 / end for end in reversed(cell.processing_s.ci95)])
    assert cell.dispatched_per_s.ci95 == pytest.approx([2 * end for end in cell.received_per_s.ci95])
    assert cell.overall_per_s.ci95 == pytest.approx([3 * end for end in cell.received_per_s.ci95])
    assert cell.mean_processing_s == pytest.approx(16 / 80_000)
    assert cell.broker_cpu == pytest.approx(0.98)
    assert cell.gc_share == pytest.approx(0.03)
    assert cell.compiler_share == pytest.approx(0.01)
    assert cell.load_cpu == pytest.approx(0.45)
    assert cell.load_us_per_delivery == pytest.approx(7.2e6 / 160_000)
    assert (cell.conservation, cell.status, cell.reason) == (1, CellStatus.OK, "")
    assert (cell.n_fltr, cell.replication, cell.profile, cell.layouts) == (2, 2.0, "today", LAYOUTS)


def test_the_interval_is_over_the_layouts(tmp_path):
    """B of all layouts but one, for each of them: the interval is the jackknife's, with t of one degree less."""
    run = rd.measured_run([(0, 2), (5, 2)], layouts=LAYOUTS, rounds=3, noise=0.01, layout_noise=0.03)
    read, windows_of = read_back(run, tmp_path / "run")

    (estimate,) = aggregate.estimated(read, windows_of).values()
    cell = summarised(run, tmp_path / "again")[1]["activemq", "f0005-r002"]

    place = [key.cell for key in estimate.cells].index("f0005-r002")
    replicates = estimate.replicates_s[:, place]
    half = 3.182446 * np.sqrt((LAYOUTS - 1) / LAYOUTS * ((replicates - replicates.mean()) ** 2).sum())
    assert cell.replicates_s == tuple(replicates)
    assert cell.processing_s.estimate == estimate.estimates_s[place]
    assert cell.processing_s.high - cell.processing_s.estimate == pytest.approx(half, rel=1e-6)


def test_three_layouts_give_no_interval(tmp_path):
    """Fewer layouts than the limit: estimates without ends."""
    run = rd.measured_run([(0, 2), (5, 2)], layouts=3, rounds=4)

    cell = summarised(run, tmp_path / "run")[1]["activemq", "f0000-r002"]

    assert cell.processing_s.estimate > 0
    assert (cell.processing_s.ci95, cell.received_per_s.ci95, cell.replicates_s) == (None, None, ())


def test_what_a_round_did_to_all_cells_is_nobodys(tmp_path):
    """A fifth of the rounds is a quarter slower: B is that of the median undisturbed round, the mean is not."""
    run = rd.measured_run(noise=0.002, layouts=5, rounds=2)
    for layout, number in ((2, 1), (4, 2)):
        for row in run.rows("windows", layout=layout, round=number):
            row["end_ns"] += (row["end_ns"] - row["begin_ns"]) // 4

    _, cells = summarised(run, tmp_path / "run")

    for (further, r), cell in zip(rd.CELLS, cells.values(), strict=True):
        truth = rd.TIMES[0] + (further + r) * rd.TIMES[1] + r * rd.TIMES[2]
        assert cell.processing_s.estimate == pytest.approx(truth, rel=0.005)
        assert cell.mean_processing_s == pytest.approx(1.05 * truth, rel=0.005)


def test_preparation_takes_part_in_the_level_only(tmp_path, run):
    """Anchors stand in no table, and tell the level of their rounds like every cell."""
    read, windows_of = read_back(run, tmp_path / "run")

    (estimate,) = aggregate.estimated(read, windows_of).values()
    _, cells = summarised(run, tmp_path / "again")

    assert {key.experiment for key in estimate.cells} == {"replication", ANCHOR}
    assert set(cells) == {("activemq", "f0000-r002"), ("activemq", "f0005-r002")}


def test_blocks_share_a_level_by_their_anchors(tmp_path):
    """One block was always measured while the host was slow by a fifth: its cells come out as the others do."""
    run = rd.measured_run(noise=0.002, blocks=2)
    for row in run.rows("windows", block=1):
        row["end_ns"] += (row["end_ns"] - row["begin_ns"]) // 5

    _, cells = summarised(run, tmp_path / "run")

    ratios = [
        cell.processing_s.estimate / (rd.TIMES[0] + (further + r) * rd.TIMES[1] + r * rd.TIMES[2])
        for (further, r), cell in zip(rd.CELLS, cells.values(), strict=True)
    ]
    assert max(ratios) / min(ratios) < 1.01


def test_starts_are_estimated_apart(tmp_path):
    """A second life at half the speed has cells of its own, and neither moves the other's levels."""
    run = rd.measured_run([(0, 2), (5, 2)], starts=2, noise=0.001)
    for row in run.rows("windows", start=2):
        row["end_ns"] += row["end_ns"] - row["begin_ns"]
    read, windows_of = read_back(run, tmp_path / "run")

    estimates = aggregate.estimated(read, windows_of)

    assert set(estimates) == {("activemq", 1), ("activemq", 2)}
    first, second = (estimates["activemq", start] for start in (1, 2))
    assert second.estimates_s / first.estimates_s == pytest.approx(2, rel=0.01)
    assert all(abs(level) < 0.01 for estimate in estimates.values() for level in estimate.levels.values())


def test_cpu_is_a_share_of_its_set_and_per_worker(tmp_path, run):
    """A broker on two CPUs, and a load of two workers, are measured against two."""
    run.manifest["brokers"]["activemq"]["cpus"] = [2, 3]
    run.manifest["options"]["workers"] = 2

    _, cells = summarised(run, tmp_path / "run")

    cell = cells["activemq", "f0000-r002"]
    assert cell.broker_cpu == pytest.approx(0.985 / 2, rel=1e-4)
    assert cell.load_cpu == pytest.approx(0.2, rel=1e-4)


def test_only_counted_slices_count(tmp_path, run):
    """A slice that makes the broker warm changes no number."""
    windows(run)[1].update(status="warm-up", received=1, dispatched=2, expected=2)

    _, cells = summarised(run, tmp_path / "run")

    cell = cells["activemq", "f0000-r002"]
    assert len(cell.windows) == LAYOUTS * ROUNDS - 1
    assert cell.received_per_s.estimate == pytest.approx(
        1 / (rd.TIMES[0] + 2 * rd.TIMES[1] + 2 * rd.TIMES[2]), rel=0.02
    )
    assert (cell.status, cell.reason, cell.layouts) == (CellStatus.OK, "", LAYOUTS)


BREAK = {
    CellStatus.AUDIT_FAILED: lambda _: None,  # told by the audit, not by the windows
    CellStatus.GENERATOR_BOUND: lambda run: [row.update(load_cpu_ns=row["load_cpu_ns"] * 2) for row in windows(run)],
    CellStatus.NOT_SATURATED: lambda run: [row.update(broker_cpu_ns=row["broker_cpu_ns"] // 2) for row in windows(run)],
    CellStatus.UNSTEADY: lambda run: [row.update(dispatched=row["dispatched"] * 98 // 100) for row in windows(run)],
}


@pytest.mark.parametrize("first", range(len(BREAK)))
def test_the_first_rule_that_fails_decides(tmp_path, run, first):
    """With this rule and all later ones broken the status is this rule's; the other cell stays ok."""
    expected, *_ = broken = list(BREAK)[first:]
    for status in broken:
        BREAK[status](run)

    _, cells = summarised(run, tmp_path / "run", wrong=["f0000-r002"] if CellStatus.AUDIT_FAILED in broken else [])

    assert cells["activemq", "f0000-r002"].status == expected
    assert cells["activemq", "f0000-r002"].reason
    assert cells["activemq", "f0005-r002"].status == CellStatus.OK


@pytest.mark.parametrize(
    ("cpu", "copies", "status"),
    [
        (0.949, 1, CellStatus.NOT_SATURATED),
        (0.951, 1, CellStatus.OK),
        (1.2, 1, CellStatus.OK),
        (0.985, 0.989, CellStatus.UNSTEADY),
        (0.985, 0.991, CellStatus.OK),
        (0.985, 1.011, CellStatus.UNSTEADY),
    ],
)
def test_limits_hold_to_the_digit(tmp_path, run, cpu, copies, status):
    """0.95 of the CPU set; more than 1 % too few or too many copies over the sum of all slices are unsteady."""
    for row in windows(run):
        row["broker_cpu_ns"] = round(cpu * (row["end_ns"] - row["begin_ns"]))
        row["dispatched"] = round(row["expected"] * copies)

    _, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].conservation == pytest.approx(copies, abs=1e-4)
    assert cells["activemq", "f0000-r002"].status == status


@pytest.mark.parametrize("fewer", [-40, 40])
def test_messages_that_are_still_in_flight_are_not_processed(tmp_path, run, fewer):
    """B follows the copies delivered, not the messages sent: these differ by the change of those in flight."""
    _, before = summarised(run, tmp_path / "before")
    for row in windows(run):
        row["received"] -= fewer
        row["expected"] -= 2 * fewer

    _, cells = summarised(run, tmp_path / "run")

    cell, other = cells["activemq", "f0000-r002"], before["activemq", "f0000-r002"]
    assert cell.processing_s.estimate == pytest.approx(other.processing_s.estimate, rel=1e-12)
    assert cell.received_per_s.estimate == pytest.approx(other.received_per_s.estimate, rel=1e-12)
    assert (cell.conservation > 1) is (fewer > 0)


def paced(run, pace="receipt, 1 in flight per publisher"):
    """The run, its first cell at a pace of its own."""
    run.plans[0]["pace"] = pace
    return run


def test_a_pace_of_its_own_never_enters_a_model(tmp_path, run):
    """A cell that saturates the broker in another way than the run's is no measurement of the model."""
    _, cells = summarised(paced(run), tmp_path / "run")

    assert not cells["activemq", "f0000-r002"].fits_model
    assert cells["activemq", "f0000-r002"].status == CellStatus.OK
    assert cells["activemq", "f0005-r002"].fits_model


@pytest.mark.parametrize(("pace", "consequence"), [(True, VerdictKind.VALID), (False, VerdictKind.INVALID)])
def test_whether_a_pace_can_load_the_broker_is_an_answer(tmp_path, run, pace, consequence):
    """One synchronous publisher may leave the broker idle: shown as not saturated, and the run stays valid."""
    for cell in ("f0000-r002", "f0005-r002"):
        for row in windows(run, cell):
            row["broker_cpu_ns"] //= 2
    if pace:
        paced(run)

    read, cells = summarised(run, tmp_path / "run")

    assert {cell.status for cell in cells.values()} == {CellStatus.NOT_SATURATED}
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert (finding.measured, finding.consequence) == ("2 not-saturated of 2", consequence)


@pytest.mark.parametrize("status", [CellStatus.GENERATOR_BOUND, CellStatus.UNSTEADY])
def test_a_pace_excuses_nothing_else(tmp_path, status):
    """A load that was itself the limit, or slices that do not conserve, answer no question."""
    run = paced(rd.measured_run([(0, 2)]))
    BREAK[status](run)

    read, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].status == status
    left_out, *_ = aggregate.findings(read, list(cells.values()))
    assert left_out.consequence == VerdictKind.INVALID


@pytest.fixture
def open_loop():
    """A run whose loop is closed, with an open loop at half of the capacity beside its cells: 500 messages/s."""
    run = rd.measured_run([(0, 2), (5, 2)], layouts=LAYOUTS, rounds=ROUNDS)
    rd.add_open_loop(run, rd.open_loop_plan(50, ArrivalProcess.POISSON), 50, slice_s=8.0)
    return run


OPEN = "u50-poisson"


def rows_of_open_loop(run):
    return run.rows("windows", experiment="latency")


def test_the_cell_decides_which_limits_hold(tmp_path, open_loop):
    """In an open loop neither an idle broker nor a busy load counts; closed loops beside it are judged as ever."""
    for row in rows_of_open_loop(open_loop):
        row["load_cpu_ns"] = round(0.9 * (row["end_ns"] - row["begin_ns"]))
    BREAK[CellStatus.NOT_SATURATED](open_loop)

    read, cells = summarised(open_loop, tmp_path / "run")

    cell = cells["activemq", OPEN]
    assert (cell.status, cell.reason, cell.planned_per_s) == (CellStatus.OK, "", 500)
    assert cell.broker_cpu == pytest.approx(0.5, rel=1e-3)
    assert not cell.fits_model
    assert cells["activemq", "f0000-r002"].status == CellStatus.NOT_SATURATED
    assert not any("latency" in finding.what for finding in aggregate.findings(read, list(cells.values())))


def test_the_cpu_of_an_open_loop_need_not_be_known(tmp_path):
    """Of a broker whose CPU cannot be read, only the closed loops are unverified."""
    run = rd.measured_run([(0, 2)])
    rd.add_open_loop(run, rd.open_loop_plan(50, ArrivalProcess.POISSON), 50)
    for row in rows_of_open_loop(run):
        row["broker_cpu_ns"] = None

    read, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", OPEN].broker_cpu is None
    assert list(aggregate.findings(read, list(cells.values()))) == []


def test_a_queue_may_vary_from_slice_to_slice(tmp_path, open_loop):
    """What one slice leaves in the broker and the next one takes out again is no fault of an open loop."""
    first, second, *_ = rows_of_open_loop(open_loop)
    first["dispatched"] -= 800
    second["dispatched"] += 800

    read, cells = summarised(open_loop, tmp_path / "run")

    assert cells["activemq", OPEN].status == CellStatus.OK
    assert cells["activemq", OPEN].conservation == pytest.approx(1, abs=0.01)
    assert told(read, cells) == []


def test_an_open_loop_has_an_interval_over_its_layouts(tmp_path, open_loop):
    """Its time per message is that of its slices, which no level of a round changes; the replicates leave one out."""
    read, windows_of = read_back(open_loop, tmp_path / "run")
    (estimate,) = aggregate.estimated(read, windows_of).values()
    cell = summarised(open_loop, tmp_path / "again")[1]["activemq", OPEN]

    assert "latency" not in {key.experiment for key in estimate.cells}
    received = sum(row["received"] for row in rows_of_open_loop(open_loop))
    assert cell.processing_s.estimate == cell.mean_processing_s == pytest.approx(64 / received)
    without = sum(row["received"] for row in rows_of_open_loop(open_loop) if row["layout"] != 2)
    assert cell.replicates_s[1] == pytest.approx(48 / without)
    assert cell.processing_s.low < cell.processing_s.estimate < cell.processing_s.high


@pytest.mark.parametrize(("slower", "left_out"), [(1.2, 2), (1.05, 0)])
def test_an_open_loop_without_its_capacity_is_left_out(tmp_path, open_loop, slower, left_out):
    """Rounds in which the capacity beside it was more than 10 % down were another load; others count."""
    plan = rd.replication_plan(0, 1, experiment=CAPACITY, cell=f"latency-{OPEN}")
    rd.add_cell(open_loop, plan, taken_s=[1e-3], block=1)
    for layout in (1, 3):
        for row in open_loop.rows("windows", experiment=CAPACITY, layout=layout, round=2):
            row["end_ns"] = row["begin_ns"] + round((row["end_ns"] - row["begin_ns"]) * slower)

    cell = summarised(open_loop, tmp_path / "run")[1]["activemq", OPEN]

    rounds = {(window.layout, window.round) for window in cell.windows}
    assert len(rounds) == LAYOUTS * ROUNDS - left_out
    assert ((1, 2) in rounds, (3, 2) in rounds) == (not left_out, not left_out)
    assert cell.reason == (f"{left_out} slices left out, capacity was lower then" if left_out else "")
    assert cell.status == CellStatus.OK


@pytest.mark.parametrize(
    ("column", "change", "said"),
    [
        ("received", -600, "planned messages"),
        ("received", 600, "planned messages"),
        ("dispatched", -600, "backlog grew by"),
        ("dispatched", 600, "a backlog from before the slices shrank by"),
        ("dispatched", -200, ""),
    ],
)
def test_a_broker_that_does_not_keep_up_is_unsteady(tmp_path, open_loop, column, change, said):
    """Of 8 x 4,000 planned messages, 2 % more or less were not put on, or stayed in the broker; 0.6 % are scatter."""
    for row in rows_of_open_loop(open_loop):
        row["received"] = row["expected"] = row["dispatched"] = 4_000
    rows_of_open_loop(open_loop)[2][column] += change

    _, cells = summarised(open_loop, tmp_path / "run")

    assert cells["activemq", OPEN].status == (CellStatus.UNSTEADY if said else CellStatus.OK)
    assert said in cells["activemq", OPEN].reason


def test_the_scatter_of_few_arrivals_is_no_overload(tmp_path, open_loop):
    """Poisson arrivals of 90 messages are within 3 sqrt(90) = 28 of their plan; 29 fewer are not."""
    for row in rows_of_open_loop(open_loop):
        row |= {"planned_per_s": 90 / 64, "received": 8, "expected": 8, "dispatched": 8}  # 90 in 8 x 8 s
    assert summarised(open_loop, tmp_path / "run")[1]["activemq", OPEN].status == CellStatus.OK

    rows_of_open_loop(open_loop)[0]["received"] -= 3
    assert summarised(open_loop, tmp_path / "again")[1]["activemq", OPEN].status == CellStatus.UNSTEADY


def test_slices_of_one_cell_have_one_planned_rate(tmp_path, open_loop):
    """A cell that is an open loop in one slice and a closed one in the next is a damaged record."""
    rows_of_open_loop(open_loop)[1]["planned_per_s"] = None

    with pytest.raises(DataError, match="2 planned rates"):
        summarised(open_loop, tmp_path / "run")


def test_capacities_are_no_cells(tmp_path, run):
    """The closed loop that found the capacity of an open one has no row among the cells."""
    rd.add_cell(run, rd.replication_plan(0, 1, experiment=CAPACITY, cell="latency-u30"), taken_s=[1e-4])

    _, cells = summarised(run, tmp_path / "run")

    assert set(cells) == {("activemq", "f0000-r002"), ("activemq", "f0005-r002")}


@pytest.mark.parametrize("change", [{"cpu_known": False}, {"cpus": None}])
def test_unknown_cpu_is_unverified_not_a_pass(tmp_path, run, change):
    """Where the broker's CPU or its set is not known, the cell may be ok and the run cannot be valid."""
    run.manifest["brokers"]["activemq"] |= change

    read, cells = summarised(run, tmp_path / "run")
    (finding,) = aggregate.findings(read, list(cells.values()))

    assert cells["activemq", "f0000-r002"].broker_cpu is None
    assert cells["activemq", "f0000-r002"].status == CellStatus.OK
    assert finding.consequence == VerdictKind.UNVERIFIED
    assert "--broker-pid" in finding.advice


def test_a_single_reading_that_is_missing_makes_the_cpu_unknown(tmp_path, run):
    """A mean over the slices that happen to have a reading would not be the cell's."""
    windows(run)[0]["broker_cpu_ns"] = None

    _, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].broker_cpu is None
    assert cells["activemq", "f0005-r002"].broker_cpu is not None


def test_a_cell_without_messages_has_no_rate(tmp_path, run):
    """Nothing received is no time per message: no numbers, and never ok."""
    for row in windows(run):
        row |= {"received": 0, "expected": 0, "dispatched": 0}

    _, cells = summarised(run, tmp_path / "run")

    cell = cells["activemq", "f0000-r002"]
    assert (cell.received_per_s, cell.processing_s, cell.broker_cpu) == (None, None, None)
    assert cell.status == CellStatus.UNSTEADY


def test_a_cell_that_was_all_pauses_has_no_time(tmp_path, run):
    """Where a log says that the broker did nothing else, there is no B outside pauses, and the cell is never ok."""
    for row in windows(run):
        row["gc_pause_ns"] = row["end_ns"] - row["begin_ns"]

    cell = summarised(run, tmp_path / "run")[1]["activemq", "f0000-r002"]

    assert (cell.processing_s, cell.replicates_s, cell.status) == (None, (), CellStatus.UNSTEADY)
    assert "pauses" in cell.reason


def test_a_cell_without_a_good_slice(tmp_path, run):
    """Of a run in parts: all slices of an open loop were measured beside less than its capacity."""
    plan = rd.replication_plan(0, 1, experiment=CAPACITY, cell=f"latency-{OPEN}")
    rd.add_open_loop(run, rd.open_loop_plan(50, ArrivalProcess.POISSON), 50, slice_s=1.0)
    rd.add_cell(run, plan, taken_s=[1e-3], block=1)
    open_rows = run.rows("windows", experiment="latency")
    for row in open_rows[3:]:
        run.tables["windows"].remove(row)
    run.manifest["outcome"] = "interrupted"
    for row in open_rows[:3]:
        for capacity in run.rows("windows", experiment=CAPACITY, layout=row["layout"], round=row["round"]):
            capacity["received"] //= 2
    (read,) = open_runs([run.write(tmp_path / "run")], partial=True)
    windows_of = without_spark.windows_of(read)
    cells = aggregate.summarise(read, windows_of, set(read.cells), aggregate.estimated(read, windows_of))

    (cell,) = [each for each in cells if each.key.cell == OPEN]

    assert (cell.status, cell.reason, cell.windows) == (CellStatus.UNSTEADY, "no slice was measured", ())


@pytest.mark.parametrize(
    ("change", "said"),
    [({"end_ns": 5}, "layout 1, round 1 ends before it begins"), ({"status": "fine"}, "status 'fine'")],
)
def test_impossible_slices_are_refused(tmp_path, run, change, said):
    """Times that run backwards and unknown words are not computed with."""
    windows(run)[0].update(change)

    with pytest.raises(DataError, match=said):
        summarised(run, tmp_path / "run")


def test_a_smoke_grid_is_judged_by_its_audit_alone(tmp_path, run):
    """Neither CPU nor conservation count there; a lost message does, and a finding says that nothing is measured."""
    run.manifest["options"]["grid"] = "smoke"
    for status in (CellStatus.GENERATOR_BOUND, CellStatus.NOT_SATURATED, CellStatus.UNSTEADY):
        BREAK[status](run)

    read, cells = summarised(run, tmp_path / "run")
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert {cell.status for cell in cells.values()} == {CellStatus.OK}
    assert "smoke" in finding.what
    assert finding.consequence == VerdictKind.VALID

    _, cells = summarised(run, tmp_path / "run", wrong=["f0000-r002"])
    assert cells["activemq", "f0000-r002"].status == CellStatus.AUDIT_FAILED


def test_a_cell_of_which_copies_may_be_missing_is_left_out(tmp_path, run):
    """It is no fault, but no number to use either; if nothing else is left there is no answer."""
    read, cells = summarised(run, tmp_path / "run", dropped=["f0000-r002"])
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert cells["activemq", "f0000-r002"].status == CellStatus.LOSSY
    assert (finding.measured, finding.consequence) == ("1 lossy of 2", VerdictKind.VALID)

    read, cells = summarised(run, tmp_path / "run", dropped=["f0000-r002", "f0005-r002"])
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert finding.consequence == VerdictKind.INVALID


def test_nothing_left_is_invalid_and_something_left_is_shown(tmp_path, run):
    """Cells left out are a finding; where no cell of an experiment is left there is no number to believe."""
    BREAK[CellStatus.NOT_SATURATED](run)
    read, cells = summarised(run, tmp_path / "run")
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert (finding.measured, finding.consequence) == ("1 not-saturated of 2", VerdictKind.VALID)

    for row in run.tables["windows"]:
        row["broker_cpu_ns"] = 0
    read, cells = summarised(run, tmp_path / "again")
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert (finding.measured, finding.consequence) == ("2 not-saturated of 2", VerdictKind.INVALID)


def slow_quarter(run, *, log):
    """A quarter of a cell's slices is 40 % slower: by a log of pauses that was the host, else it may be the broker."""
    for row in windows(run)[::4]:
        row["end_ns"] += 2 * (row["end_ns"] - row["begin_ns"]) // 5
        row["broker_cpu_ns"] = 7 * row["broker_cpu_ns"] // 5
    if not log:
        for row in run.tables["windows"]:
            row.update(dict.fromkeys(("gc_pause_ns", "gc_pauses", "full_gc_pause_ns")))


def unbalanced(run, slices):
    """What one slice leaves behind and the next one gets is no fault."""
    for number, row in enumerate(windows(run)[:slices]):
        row["dispatched"] = row["dispatched"] * (105 if number % 2 else 94) // 100


def busy_beside(run, most):
    """Housekeeping of a live broker is taken from the one under load; in one slice it was more."""
    for number, row in enumerate(windows(run)):
        row["idle_broker_cpu_ns"] = round((row["end_ns"] - row["begin_ns"]) * (most if number == 5 else 0.004))


#: What slices show -> how it comes about, and what is said of it, if anything.
REMARKS = {
    "a slice that does not conserve": (lambda run: unbalanced(run, 1), None),
    "many of them": (
        lambda run: unbalanced(run, 8),
        ("many single slices on activemq do not conserve messages", "8 of 16, largest deviation 0.940"),
    ),
    "messages in flight": (
        lambda run: windows(run)[0].update(in_flight=windows(run)[0]["received"] // 3),
        ("many messages in flight on activemq", "0.33 of the messages of a slice,"),
    ),
    "copies that came after the drain": (
        lambda run: [row.update(owed=owed) for row, owed in zip(windows(run)[:3], (3, 700, 1), strict=True)],
        ("slices on activemq were not drained in time", "3 of 16, up to 700 copies"),
    ),
    "slow slices, with a log": (lambda run: slow_quarter(run, log=True), None),
    "slow slices, without a log": (
        lambda run: slow_quarter(run, log=False),
        ("mean and robust value differ in 1 of 2 cells of activemq", "the mean differs by +"),
    ),
    "an idle broker": (lambda run: busy_beside(run, 0.01), None),
    "a broker that is not idle": (
        lambda run: busy_beside(run, 0.04),
        ("another live broker was not idle while activemq was measured", "1 of 8 slices, up to 4.0% of a core"),
    ),
}


@pytest.mark.parametrize("what", REMARKS)
def test_what_slices_show_is_told_with_the_worst_of_them(tmp_path, run, what):
    """Beyond its limit it is named with the cell and what was measured; neither the cell nor the run is less valid."""
    change, said = REMARKS[what]
    change(run)

    read, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].status == CellStatus.OK
    found = told(read, cells)
    assert [(finding.what, finding.consequence) for finding in found] == (
        [(said[0], VerdictKind.VALID)] if said else []
    )
    for finding in found:
        assert finding.measured.startswith(said[1])
        assert finding.measured.endswith("in replication f0000-r002 (start 1)")


def test_the_mean_has_what_the_robust_value_leaves_out(tmp_path, run):
    """A quarter of the slices 40 % slower: a tenth more time."""
    slow_quarter(run, log=False)

    cell = summarised(run, tmp_path / "run")[1]["activemq", "f0000-r002"]

    assert cell.mean_processing_s / cell.processing_s.estimate == pytest.approx(1.1, abs=0.02)


def test_levels_of_rounds(tmp_path):
    """By start, in the order of time: how much slower a round was, and what the JVM did in it."""
    run = rd.measured_run(noise=0.001, starts=2, layouts=4)
    for row in run.rows("windows", start=2, layout=3, round=1):
        row["end_ns"] += (row["end_ns"] - row["begin_ns"]) // 5
        row["compiler_cpu_ns"] = row["broker_cpu_ns"] // 10
    read, windows_of = read_back(run, tmp_path / "run")

    levels = aggregate.round_levels(read, windows_of, aggregate.estimated(read, windows_of))

    assert [(level.start, level.layout, level.round) for level in levels] == [
        (start, layout, number) for start in (1, 2) for layout in range(1, 5) for number in (1, 2)
    ]
    assert [level.begin_s for level in levels if level.start == 2] == sorted(
        level.begin_s for level in levels if level.start == 2
    )
    assert levels[0].begin_s == levels[8].begin_s == 0
    (slow,) = [level for level in levels if level.disturbed]
    assert (slow.start, slow.layout, slow.round) == (2, 3, 1)
    assert slow.level == pytest.approx(0.2, abs=0.005)
    assert slow.compiler_share == pytest.approx(0.1, rel=0.01)
    assert levels[0].compiler_share == pytest.approx(0.002, rel=0.01)
    assert levels[0].gc_share == pytest.approx(0.02, rel=0.01)


def test_a_cell_that_the_audit_does_not_know_is_not_exact(tmp_path, run):
    """Without an audit of its traffic a cell is never ok."""
    (read,) = open_runs([run.write(tmp_path / "run")])
    windows_of = dict.fromkeys(read.cells, ())

    assert {cell.status for cell in aggregate.summarise(read, windows_of, set(), {})} == {CellStatus.AUDIT_FAILED}

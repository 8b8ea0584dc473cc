"""Windows become cells: the arithmetic by hand, and each status by its rule and in its order."""

import pytest

from analysis import aggregate
from analysis.directory import frames
from analysis.errors import DataError
from analysis.load import open_runs
from analysis.results import CellAudit
from tests import run_directories as rd
from workloads.lanes import LaneAudit
from workloads.records import CAPACITY, KEYS, WINDOWS, Window
from workloads.rules import Status, VerdictKind
from workloads.sendrules import Arrivals

FIELDS = [column.name for column in WINDOWS if column not in KEYS]


def summarised(run, folder, lossy=()):
    """The run, and its cells by name; `lossy` ones failed their audit."""
    (read,) = open_runs([run.write(folder)])
    windows = {
        key: tuple(
            Window(*(row[name] for name in FIELDS))
            for row in run.rows("windows", **{name: getattr(key, name) for name in rd.KEYS})
        )
        for key in read.cells
    }
    audits = [CellAudit(key, 10, LaneAudit(10, 9, 1) if key.cell in lossy else LaneAudit(10, 10)) for key in read.cells]
    cells = aggregate.summarise(read, windows, audits)
    return read, {(cell.key.broker, cell.key.cell): cell for cell in cells}


def windows(run, cell="f0000-r002", **keys):
    return run.rows("windows", cell=cell, experiment="replication", **keys)


@pytest.fixture
def run():
    """Two cells, three windows each."""
    return rd.measured_run([(0, 2), (5, 2)], windows=3)


def test_rates_and_times_by_hand(tmp_path, run):
    """Totals over the windows, with their scatter as interval: 10000, 10200 and 9800 messages in 2 s each."""
    for row, received in zip(windows(run), (10_000, 10_200, 9_800), strict=True):
        row |= {
            "begin_ns": 10**12,
            "end_ns": 10**12 + 2 * 10**9,
            "received": received,
            "expected": 2 * received,
            "dispatched": 2 * received,
            "broker_cpu_ns": 1_960_000_000,
            "load_cpu_ns": 900_000_000,
        }

    _, cells = summarised(run, tmp_path / "run")
    cell = cells["activemq", "f0000-r002"]

    assert cell.received_per_s.estimate == 5000
    assert cell.received_per_s.high - 5000 == pytest.approx(4.3027 * 100 / 3**0.5, rel=1e-4)  # sd 100, n = 3
    assert cell.dispatched_per_s.estimate == 10_000
    assert cell.overall_per_s.ci95 == pytest.approx([3 * end for end in cell.received_per_s.ci95])
    assert cell.processing_s.estimate == pytest.approx(2e-4)
    assert cell.broker_cpu == pytest.approx(0.98)
    assert cell.load_cpu == pytest.approx(0.45)
    assert cell.load_us_per_delivery == pytest.approx(2.7e6 / 60_000)
    assert (cell.conservation, cell.status, cell.reason) == (1, Status.OK, "")
    assert (cell.n_fltr, cell.replication, cell.profile) == (2, 2.0, "today")


def test_cpu_is_a_share_of_its_set_and_per_worker(tmp_path, run):
    """A broker on two CPUs, and a load of two workers, are measured against two."""
    run.manifest["brokers"]["activemq"]["cpus"] = [2, 3]
    run.manifest["options"]["workers"] = 2

    _, cells = summarised(run, tmp_path / "run")

    cell = cells["activemq", "f0000-r002"]
    assert cell.broker_cpu == pytest.approx(0.985 / 2, rel=1e-4)
    assert cell.load_cpu == pytest.approx(0.2, rel=1e-4)


@pytest.mark.parametrize("status", ["warm-up", "repeated", "contaminated"])
def test_only_good_windows_count(tmp_path, run, status):
    """A window that was repeated, contaminated or for warming changes no number; contaminated ones are counted."""
    windows(run)[1].update(status=status, received=1, dispatched=2, expected=2)

    _, cells = summarised(run, tmp_path / "run")

    cell = cells["activemq", "f0000-r002"]
    assert len(cell.windows) == 2
    assert cell.received_per_s.estimate == pytest.approx(
        1 / (rd.TIMES[0] + 2 * rd.TIMES[1] + 2 * rd.TIMES[2]), rel=0.02
    )
    assert cell.contaminated == (status == "contaminated")
    assert cell.status == Status.OK
    assert ("1 contaminated" in cell.reason) == (status == "contaminated")


def test_warm_up_is_no_cell(tmp_path, run):
    """The warm-up is audited, but has no row among the cells."""
    _, cells = summarised(run, tmp_path / "run")

    assert set(cells) == {("activemq", "f0000-r002"), ("activemq", "f0005-r002")}


BREAK = {
    Status.AUDIT_FAILED: lambda _: None,  # told by the audit, not by the windows
    Status.CONTAMINATED: lambda run: [row.update(status="contaminated") for row in windows(run)[:2]],
    Status.GENERATOR_BOUND: lambda run: [row.update(load_cpu_ns=row["load_cpu_ns"] * 2) for row in windows(run)],
    Status.NOT_SATURATED: lambda run: [row.update(broker_cpu_ns=row["broker_cpu_ns"] // 2) for row in windows(run)],
    Status.UNSTEADY: lambda run: windows(run)[2].update(dispatched=windows(run)[2]["dispatched"] * 98 // 100),
}


@pytest.mark.parametrize("first", range(len(BREAK)))
def test_the_first_rule_that_fails_decides(tmp_path, run, first):
    """With this rule and all later ones broken the status is this rule's; the other cell stays ok."""
    expected, *_ = broken = list(BREAK)[first:]
    for status in broken:
        BREAK[status](run)

    _, cells = summarised(run, tmp_path / "run", lossy=["f0000-r002"] if Status.AUDIT_FAILED in broken else [])

    assert cells["activemq", "f0000-r002"].status == expected
    assert cells["activemq", "f0000-r002"].reason
    assert cells["activemq", "f0005-r002"].status == Status.OK


@pytest.mark.parametrize(("share", "status"), [(0.949, Status.NOT_SATURATED), (0.951, Status.OK), (1.2, Status.OK)])
def test_the_limit_of_the_broker_s_cpu(tmp_path, run, share, status):
    """0.95 of the CPU set is the limit, not near it."""
    for row in windows(run):
        row["broker_cpu_ns"] = round(share * (row["end_ns"] - row["begin_ns"]))

    _, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].status == status


@pytest.mark.parametrize(("copies", "status"), [(0.989, Status.UNSTEADY), (0.991, Status.OK), (1.011, Status.UNSTEADY)])
def test_one_window_that_does_not_conserve_is_enough(tmp_path, run, copies, status):
    """More than 1 % too few or too many copies in one window make the cell unsteady and give a finding."""
    windows(run)[1]["dispatched"] = round(windows(run)[1]["expected"] * copies)

    read, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].status == status
    found = [finding.what for finding in aggregate.findings(read, list(cells.values()))]
    assert any("do not conserve" in what for what in found) == (status == Status.UNSTEADY)


def paced(run, pace="receipt, 1 in flight per publisher"):
    """The run, its first cell at a pace of its own."""
    run.plans[1]["pace"] = pace
    return run


def test_a_pace_of_its_own_never_enters_a_model(tmp_path, run):
    """A cell that saturates the broker in another way than the run's is no measurement of the model."""
    _, cells = summarised(paced(run), tmp_path / "run")

    assert not cells["activemq", "f0000-r002"].fits_model
    assert cells["activemq", "f0000-r002"].status == Status.OK
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

    assert {cell.status for cell in cells.values()} == {Status.NOT_SATURATED}
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert (finding.measured, finding.consequence) == ("2 not-saturated of 2", consequence)


@pytest.mark.parametrize("status", [Status.GENERATOR_BOUND, Status.UNSTEADY])
def test_a_pace_excuses_nothing_else(tmp_path, status):
    """A load that was itself the limit, or windows that do not conserve, answer no question."""
    run = paced(rd.measured_run([(0, 2)], windows=3))
    BREAK[status](run)

    read, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].status == status
    left_out, *_ = aggregate.findings(read, list(cells.values()))
    assert left_out.consequence == VerdictKind.INVALID


@pytest.fixture
def open_loop():
    """A run whose loop is closed, with an open loop at half of the capacity beside its cells: 500 messages/s."""
    run = rd.measured_run([(0, 2), (5, 2)], windows=3)
    rd.add_open_loop(run, rd.open_loop_plan(50, Arrivals.POISSON), 50, windows=3)
    return run


OPEN = "u50-poisson"


def rows_of_open_loop(run):
    return run.rows("windows", experiment="latency")


def test_the_cell_decides_which_limits_hold(tmp_path, open_loop):
    """In an open loop neither an idle broker nor a busy load counts; closed loops beside it are judged as ever."""
    for row in rows_of_open_loop(open_loop):
        row["load_cpu_ns"] = round(0.9 * (row["end_ns"] - row["begin_ns"]))
    BREAK[Status.NOT_SATURATED](open_loop)

    read, cells = summarised(open_loop, tmp_path / "run")

    cell = cells["activemq", OPEN]
    assert (cell.status, cell.reason, cell.planned_per_s) == (Status.OK, "", 500)
    assert cell.broker_cpu == pytest.approx(0.5, rel=1e-3)
    assert not cell.fits_model
    assert cells["activemq", "f0000-r002"].status == Status.NOT_SATURATED
    assert not any("latency" in finding.what for finding in aggregate.findings(read, list(cells.values())))


def test_the_cpu_of_an_open_loop_need_not_be_known(tmp_path):
    """Of a broker whose CPU cannot be read, only the closed loops are unverified."""
    run = rd.measured_run([(0, 2)])
    rd.add_open_loop(run, rd.open_loop_plan(50, Arrivals.POISSON), 50)
    for row in rows_of_open_loop(run):
        row["broker_cpu_ns"] = None

    read, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", OPEN].broker_cpu is None
    assert list(aggregate.findings(read, list(cells.values()))) == []


def test_a_queue_may_vary_within_the_windows(tmp_path, open_loop):
    """What one window leaves in the broker and the next one takes out again is no fault of an open loop."""
    first, second, _ = rows_of_open_loop(open_loop)
    first["dispatched"] -= 2000
    second["dispatched"] += 2000

    read, cells = summarised(open_loop, tmp_path / "run")

    assert cells["activemq", OPEN].status == Status.OK
    assert abs(cells["activemq", OPEN].conservation - 1) == pytest.approx(0.2, abs=0.01)
    assert list(aggregate.findings(read, list(cells.values()))) == []


@pytest.mark.parametrize(
    ("column", "change", "said"),
    [
        ("received", -600, "planned messages"),
        ("received", 600, "planned messages"),
        ("dispatched", -600, "backlog grew by"),
        ("dispatched", 600, "a backlog from before the windows shrank by"),
        ("dispatched", -200, ""),
    ],
)
def test_a_broker_that_does_not_keep_up_is_unsteady(tmp_path, open_loop, column, change, said):
    """Of 3 x 10,000 planned messages, 2 % more or less were not put on, or stayed in the broker; 0.7 % are scatter."""
    for row in rows_of_open_loop(open_loop):
        row["received"] = row["expected"] = row["dispatched"] = 10_000
    rows_of_open_loop(open_loop)[2][column] += change

    _, cells = summarised(open_loop, tmp_path / "run")

    assert cells["activemq", OPEN].status == (Status.UNSTEADY if said else Status.OK)
    assert said in cells["activemq", OPEN].reason


def test_the_scatter_of_few_arrivals_is_no_overload(tmp_path, open_loop):
    """Poisson arrivals of 90 messages are within 3 sqrt(90) = 28 of their plan; 29 fewer are not."""
    for row in rows_of_open_loop(open_loop):
        row |= {"planned_per_s": 1.5, "received": 21, "expected": 21, "dispatched": 21}  # 1.5/s x 20 s x 3
    assert summarised(open_loop, tmp_path / "run")[1]["activemq", OPEN].status == Status.OK

    rows_of_open_loop(open_loop)[0]["received"] -= 2
    assert summarised(open_loop, tmp_path / "again")[1]["activemq", OPEN].status == Status.UNSTEADY


def test_windows_of_one_cell_have_one_planned_rate(tmp_path, open_loop):
    """A cell that is an open loop in one window and a closed one in the next is a damaged record."""
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
    assert cells["activemq", "f0000-r002"].status == Status.OK
    assert finding.consequence == VerdictKind.UNVERIFIED
    assert "--broker-pid" in finding.advice


def test_a_single_reading_that_is_missing_makes_the_cpu_unknown(tmp_path, run):
    """A mean over the windows that happen to have a reading would not be the cell's."""
    windows(run)[0]["broker_cpu_ns"] = None

    _, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].broker_cpu is None
    assert cells["activemq", "f0005-r002"].broker_cpu is not None


def test_a_window_without_messages_has_no_rate(tmp_path, run):
    """Nothing received is no time per message: no numbers, and never ok."""
    for row in windows(run):
        row |= {"received": 0, "expected": 0, "dispatched": 0}

    _, cells = summarised(run, tmp_path / "run")

    cell = cells["activemq", "f0000-r002"]
    assert (cell.received_per_s, cell.processing_s, cell.broker_cpu) == (None, None, None)
    assert cell.status == Status.UNSTEADY


def test_a_cell_without_a_good_window(tmp_path, run):
    """Only warm-up windows are no measurement."""
    for row in windows(run):
        row["status"] = "warm-up"

    _, cells = summarised(run, tmp_path / "run")

    assert cells["activemq", "f0000-r002"].status == Status.UNSTEADY
    assert cells["activemq", "f0000-r002"].reason == "no window was measured"


@pytest.mark.parametrize(
    ("change", "said"),
    [({"end_ns": 5}, "ends before it begins"), ({"status": "fine"}, "status 'fine'")],
)
def test_impossible_windows_are_refused(tmp_path, run, change, said):
    """Times that run backwards and unknown words are not computed with."""
    windows(run)[0].update(change)

    with pytest.raises(DataError, match=said):
        summarised(run, tmp_path / "run")


def test_a_smoke_grid_is_judged_by_its_audit_alone(tmp_path, run):
    """Neither CPU nor conservation count there; a lost message does, and a finding says that nothing is measured."""
    run.manifest["options"]["grid"] = "smoke"
    for status in (Status.GENERATOR_BOUND, Status.NOT_SATURATED, Status.UNSTEADY):
        BREAK[status](run)

    read, cells = summarised(run, tmp_path / "run")
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert {cell.status for cell in cells.values()} == {Status.OK}
    assert "smoke" in finding.what
    assert finding.consequence == VerdictKind.VALID

    _, cells = summarised(run, tmp_path / "run", lossy=["f0000-r002"])
    assert cells["activemq", "f0000-r002"].status == Status.AUDIT_FAILED


def test_nothing_left_is_invalid_and_something_left_is_shown(tmp_path, run):
    """Cells left out are a finding; where no cell of an experiment is left there is no number to believe."""
    BREAK[Status.NOT_SATURATED](run)
    read, cells = summarised(run, tmp_path / "run")
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert (finding.measured, finding.consequence) == ("1 not-saturated of 2", VerdictKind.VALID)

    for row in run.tables["windows"]:
        row["broker_cpu_ns"] = 0
    read, cells = summarised(run, tmp_path / "again")
    (finding,) = aggregate.findings(read, list(cells.values()))
    assert (finding.measured, finding.consequence) == ("2 not-saturated of 2", VerdictKind.INVALID)


def test_a_large_backlog_is_a_finding(tmp_path, run):
    """Messages in flight above a fifth of a window's are named with the worst cell."""
    windows(run)[0]["in_flight"] = windows(run)[0]["received"] // 3

    read, cells = summarised(run, tmp_path / "run")
    (finding,) = aggregate.findings(read, list(cells.values()))

    assert finding.measured == "0.33 of the messages of a window, in replication f0000-r002 (start 1)"


def test_a_cell_that_the_audit_does_not_know_is_not_exact(tmp_path, run):
    """Without an audit of its traffic a cell is never ok."""
    (read,) = open_runs([run.write(tmp_path / "run")])
    windows_of = dict.fromkeys(read.cells, ())

    assert {cell.status for cell in aggregate.summarise(read, windows_of, [])} == {Status.AUDIT_FAILED}


def test_spark_groups_windows_by_cell_and_sorts_them(spark, tmp_path):
    """Each (broker, start, experiment, cell) has exactly its own windows, in their order, every column in its place."""
    run = rd.measured_run([(0, 2), (5, 2)], brokers=("activemq", "artemis"), starts=2, windows=3)
    run.tables["windows"].reverse()
    runs = open_runs([run.write(tmp_path / "run")])

    found = aggregate.windows_by_cell(frames(spark, runs), runs)

    assert set(found) == set(runs[0].cells)
    for key, of_cell in found.items():
        rows = run.rows("windows", **{name: getattr(key, name) for name in rd.KEYS})
        assert [window.window for window in of_cell] == list(range(len(rows)))
        assert list(of_cell) == [Window(*(row[name] for name in FIELDS)) for row in reversed(rows)]

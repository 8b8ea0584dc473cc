"""The audit is exact: against one that looks at every single delivery, through Spark and without it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import DataError
from analysis.frames import frames
from analysis.throughput import stages
from analysis.throughput.audit import audit
from analysis.throughput.reader import open_runs
from analysis.throughput.results import AuditResult
from tests.support import run_directories as rd
from tests.support.run_directories import plan_entry
from workloads.schema import ANCHOR, CAPACITY
from workloads.status import VerdictKind
from workloads.throughput.lanes import LaneAudit, audit_shared_lane

KEYS = {"broker": "activemq", "start": 1, "experiment": "replication"}

#: What the first stage reads, and how it names a pair: (cell, layout, block, subscription, lane).
STORED = (*stages.PAIR, "arrival", "first_seq", "last_seq")
PAIR = len(stages.PAIR)


def small_run(cells, messages=10, **changes):
    """Two layouts of one round, and the warm-up's: three layouts of traffic; no cell but these."""
    return rd.measured_run(cells, **{"layouts": 2, "rounds": 1, "anchors": 0, "messages": messages, **changes})


#: Layouts with traffic in a small run.
PASSES = 3


def event_by_event(arrivals, sent, *, expected):
    """The definition, one delivery at a time: high is one more than the highest number seen."""
    if not expected:
        return LaneAudit(delivered=len(arrivals), misdelivered=len(arrivals))
    seen, high, duplicated, reordered, misdelivered = set(), 0, 0, 0, 0
    for number in arrivals:
        if number >= sent:
            misdelivered += 1
            continue
        if number in seen:
            duplicated += 1
        elif number < high:
            reordered += 1
        seen.add(number)
        high = max(high, number + 1)
    return LaneAudit(sent, len(arrivals), sent - len(seen), duplicated, reordered, misdelivered)


@st.composite
def streams(draw):
    """What one subscriber got of one lane: numbers in the order of arrival, mostly consecutive."""
    arrivals = []
    for first, length in draw(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)), max_size=6)):
        arrivals += range(first, first + length)
    return arrivals


def as_rows(arrivals, *, cuts):
    """The stream as recorded runs: broken where it is not consecutive, and at random places besides."""
    rows = []
    for place, number in enumerate(arrivals):
        if rows and rows[-1][2] == number - 1 and place not in cuts:
            rows[-1][2] = number
        else:
            rows.append([place, number, number])
    return rows


def heard(rows):
    """Rows as the second stage gets them: sorted, in batches that cut through audiences."""
    rows = sorted(rows)
    return [
        pa.RecordBatch.from_arrays([pa.array(column) for column in np.array(rows[at : at + 3]).T], list(stages.HEARD))
        for at in range(0, len(rows), 3)
    ]


def stored(rows):
    """Rows as the first stage gets them."""
    return pa.RecordBatch.from_arrays([pa.array(column) for column in np.array(rows).T], list(STORED))


#: By layout, subscription (below 0: of another cell) and lane.
PAIRS = st.dictionaries(
    st.tuples(st.integers(1, 2), st.integers(-1, 2), st.integers(0, 3)),
    st.tuples(streams(), st.sets(st.integers(0, 30))),
    min_size=1,
    max_size=8,
)

#: By layout and lane.
SENT = st.dictionaries(st.tuples(st.integers(1, 2), st.integers(0, 3)), st.integers(1, 15))


def truth_of(pairs, sent, expected):
    """The audit of every delivery: `expected` are (subscription, lane), in each layout."""
    return sum(
        (
            event_by_event(
                pairs[layout, *pair][0] if (layout, *pair) in pairs else [],
                sent.get((layout, pair[1]), 0),
                expected=pair in expected,
            )
            for layout in (1, 2)
            for pair in {key[1:] for key in pairs} | expected
        ),
        LaneAudit(),
    )


@given(PAIRS, SENT, st.sets(st.tuples(st.integers(0, 2), st.integers(0, 3))), st.randoms())
def test_both_stages_agree_with_the_audit_of_every_delivery(pairs, sent, expected, random):
    """However the rows are cut into runs and batches, the sums are those of the audit event by event.

    Two layouts have the same numbers in the same lanes: they never meet.
    """
    streams_of = [
        [(0, layout, 0, subscription, lane, *row) for row in as_rows(arrivals, cuts=cuts)]
        for (layout, subscription, lane), (arrivals, cuts) in pairs.items()
    ]
    rows = [rows.pop(0) for rows in random.sample([s for s in streams_of for _ in s], sum(map(len, streams_of)))]
    runs = []
    while rows:
        size = random.randint(1, len(rows))
        batch, rows = rows[:size], rows[size:]
        runs += [tuple(row.values()) for out in stages.collapse([stored(batch)]) for row in out.to_pylist()]
    runs += [
        (0, layout, 0, subscription, lane, -1, -1, 0, -1, count)
        for (layout, lane), count in sent.items()
        for subscription, of in expected
        if of == lane
    ]
    judged = heard([(*row[:3], row[3], row[4], row[3], *row[PAIR:]) for row in runs])

    found = sum(
        (LaneAudit(*(row[name] for name in stages.COUNTS)) for out in stages.judge(judged) for row in out.to_pylist()),
        LaneAudit(),
    )

    assert found == truth_of(pairs, sent, expected)


def audited(spark, run, folder, **options):
    runs = open_runs([run.write(folder)], **options)
    return audit(frames(spark, runs), runs)[0]


#: Runs that are audited in one question, by their names: each has a fault of its own, or none.
RUNS = {}


def recorded(make):
    """Puts a run of one broker, which the function makes, among them."""
    RUNS[make.__name__] = make
    return make


def beside_each_other():
    """All of RUNS as one: each as a broker of its own, with its name."""
    whole = rd.RunDirectory(rd.manifest(options={"layouts": 2, "rounds": 1}), [])
    for name, make in RUNS.items():
        run = make()
        (whole.manifest["brokers"][name],) = run.manifest["brokers"].values()
        whole.plans += [plan for plan in run.plans if plan not in whole.plans]
        for rows, of_run in (
            *((whole.manifest[part], run.manifest[part]) for part in ("starts", "schedule")),
            *((rows, run.tables[table]) for table, rows in whole.tables.items()),
        ):
            rows += [row | {"broker": name} for row in of_run]
    return whole


def of_two_brokers():
    """A loss at one of them, in one of two starts."""
    run = small_run([(0, 1)], brokers=("artemis", "activemq"), starts=2)
    run.rows("deliveries", broker="artemis", start=2, experiment="replication")[0]["last_seq"] = 6
    return run


@pytest.fixture(scope="module")
def audits_of_runs(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    runs = open_runs([beside_each_other().write(folder / "whole"), of_two_brokers().write(folder / "two")])
    parts, number = "spark.sql.shuffle.partitions", spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set(parts, "3")  # audiences are spread over several processes
    try:
        return audit(frames(spark, runs), runs)
    finally:
        spark.conf.set(parts, number)


@pytest.fixture(scope="module")
def results(audits_of_runs):
    """What came of each of RUNS, by its name: nothing of one is held against another."""
    whole, _ = audits_of_runs
    return {
        name: AuditResult(
            name,
            tuple(cell for cell in whole.cells if cell.key.broker == name),
            tuple(finding for finding in whole.findings if finding.broker == name),
        )
        for name in RUNS
    }


@recorded
def clean():
    return rd.measured_run([(0, 2), (5, 3)], layouts=2, rounds=1, blocks=2, anchors=1, messages=20)


def test_a_clean_run_is_valid(results):
    """Every copy that the plan expects came once: valid, with the warm-up's traffic counted like any other.

    All layouts, and all blocks that have an anchor, use the same numbers: none is a duplicate of another.
    """
    result = results["clean"]

    found = {cell.key.cell: (cell.sent, cell.copies) for cell in result.cells}
    sent = PASSES * 2 * 20  # of two publishers
    assert found == {
        "f0000-r002": (sent, LaneAudit(2 * sent, 2 * sent)),
        "f0005-r003": (sent, LaneAudit(3 * sent, 3 * sent)),
        "r001": (2 * sent, LaneAudit(2 * sent, 2 * sent)),  # in two blocks
    }
    assert (result.verdict, result.findings) == (VerdictKind.VALID, ())


@cache
def drawn_streams():
    """A run whose cells got anything of anybody, in runs that are cut anywhere; what its audit must find by cell; and
    how many messages were sent."""
    rng = np.random.default_rng(7)
    run = small_run([(1, replication) for replication in range(1, 19)])
    run.tables["sends"], run.tables["deliveries"] = [], []
    truth, sent_in_all = {}, 0
    for replication in range(1, 19):
        keys = KEYS | {"cell": rd.cell_name(1, replication), "block": 0}
        plan = rd.replication_plan(1, replication, publishers=4)
        run.plans[replication - 1] = plan_entry(plan, fits_model=True, factors={})
        lanes = [(layout, lane) for layout in (1, 2) for lane in range(4)]
        sent = {at: int(rng.integers(1, 16)) for at in lanes if rng.random() < 0.8}
        pairs = {}
        for layout, lane in lanes:
            for subscription in rng.choice(np.arange(-1, replication + 1), size=2, replace=False).tolist():
                firsts = rng.integers(0, 13, size=rng.integers(0, 7)).tolist()
                arrivals = [at for first in firsts for at in range(first, first + int(rng.integers(1, 7)))]
                pairs[layout, subscription, lane] = arrivals, set(rng.integers(0, 31, size=4).tolist())
        for (layout, lane), count in sent.items():
            run.tables["sends"].append(rd.delivery(keys | {"layout": layout}, 0, lane, 0, 0, count - 1))
        rows = [
            rd.delivery(keys | {"layout": layout}, subscription, lane, *row)
            for (layout, subscription, lane), (arrivals, cuts) in pairs.items()
            for row in as_rows(arrivals, cuts=cuts)
        ]
        order = sorted(range(len(rows)), key=lambda at: (rows[at]["arrival"], rng.random()))
        run.tables["deliveries"] += [rows[at] for at in order]
        expected = {(subscription, lane) for lane in range(4) for subscription in range(replication)}
        truth[keys["cell"]] = truth_of(pairs, sent, expected)
        sent_in_all += sum(sent.values())
    return run, truth, sent_in_all


@recorded
def whatever_was_drawn():
    return drawn_streams()[0]


def test_spark_agrees_with_the_audit_of_every_delivery(results):
    """The whole way from Parquet: per cell the numbers are those of the audit event by event, over its layouts."""
    result, (_, truth, sent) = results["whatever_was_drawn"], drawn_streams()

    found = {cell.key.cell: cell.copies for cell in result.cells}
    assert {cell: found[cell] for cell in truth} == truth
    assert result.copies == sum(truth.values(), LaneAudit())
    assert result.sent == sent


#: What one subscriber got of one lane of ten messages, as runs in the order of arrival, and what that is.
FAULTS = {
    "clean": ([(0, 9)], LaneAudit(10, 10)),
    "lost": ([(0, 3), (5, 9)], LaneAudit(10, 9, lost=1)),
    "duplicated": ([(0, 5), (5, 9)], LaneAudit(10, 11, duplicated=1)),
    "swapped": ([(0, 3), (5, 5), (4, 4), (6, 9)], LaneAudit(10, 10, reordered=1)),
    "never sent": ([(0, 9), (10, 10)], LaneAudit(10, 11, misdelivered=1)),
    "nothing came": ([], LaneAudit(10, 0, lost=10)),
}
REPLICATIONS = range(2, 2 + len(FAULTS))


def faults_in(layout):
    run = small_run([(0, replication) for replication in REPLICATIONS])
    for replication, (runs, _) in zip(REPLICATIONS, FAULTS.values(), strict=True):
        (hit,) = run.rows("deliveries", cell=rd.cell_name(0, replication), subscription=1, lane=0, layout=layout)
        run.tables["deliveries"].remove(hit)
        keys = {name: hit[name] for name in (*rd.KEYS, "layout", "block")}
        run.tables["deliveries"] += [
            rd.delivery(keys, 1, 0, 1000 + place, first, last) for place, (first, last) in enumerate(runs)
        ]
    return run


@recorded
def faults_in_the_warm_up():
    return faults_in(0)


@recorded
def faults_in_a_layout():
    return faults_in(2)


@pytest.mark.parametrize("name", ["faults_in_the_warm_up", "faults_in_a_layout"])
def test_each_fault_is_counted_where_it_happens(results, name):
    """One fault at one subscriber in one layout is one in its cell, and none in the others."""
    result = results[name]

    found = {cell.key.cell: cell.copies for cell in result.cells}
    for replication, (fault, (_, truth)) in zip(REPLICATIONS, FAULTS.items(), strict=True):
        others = 10 * (2 * replication * PASSES - 1)
        assert found[rd.cell_name(0, replication)] == truth + LaneAudit(others, others), fault
    assert result.verdict == VerdictKind.INVALID
    assert [finding.measured.split()[0] for finding in result.findings] == ["11", "1", "1", "1"]


@recorded
def faults_where_copies_may_be_dropped():
    run = faults_in(2)
    (broker,) = run.manifest["brokers"].values()
    broker["capabilities"]["drops"] = True
    return run


def test_what_a_broker_may_drop_is_no_fault(results):
    """Missing copies are told and fail nothing; one that came twice, late, or that was never sent still does."""
    result = results["faults_where_copies_may_be_dropped"]

    lossy = {cell.key.cell for cell in result.cells if cell.lossy}
    failed = {cell.key.cell for cell in result.cells if cell.failed}
    names = dict(zip(FAULTS, (rd.cell_name(0, replication) for replication in REPLICATIONS), strict=True))
    assert lossy == {names["lost"], names["nothing came"]}
    assert failed == {names["duplicated"], names["swapped"], names["never sent"]}
    assert {finding.what.split()[1]: finding.consequence for finding in result.findings} == {
        "duplicated": VerdictKind.INVALID,
        "reordered": VerdictKind.INVALID,
        "misdelivered": VerdictKind.INVALID,
        "dropped": VerdictKind.VALID,
    }
    assert result.audit_failed


@recorded
def lost_here_and_twice_there():
    run = small_run([(0, 2)])
    for layout, (first, last) in {0: (0, 8), 1: (0, 8), 2: (0, 9)}.items():
        (hit,) = run.rows("deliveries", layout=layout, subscription=1, lane=0)
        hit |= {"first_seq": first, "last_seq": last}
    (hit,) = run.rows("deliveries", layout=2, subscription=1, lane=0)
    run.tables["deliveries"].append(hit | {"first_seq": 9, "arrival": 1000})
    return run


def test_the_same_fault_in_two_layouts_counts_twice(results):
    """What one layout lost is not made good by what another one has twice."""
    (cell,) = results["lost_here_and_twice_there"].cells

    assert cell.copies == LaneAudit(PASSES * 40, PASSES * 40 - 1, lost=2, duplicated=1)


def for_another_cell(block):
    run = small_run([(0, 1), (0, 2)], blocks=2)
    hit = run.rows("deliveries", cell=rd.cell_name(0, 1 + block), layout=1, lane=1)[0]
    hit["last_seq"] = 8
    run.tables["deliveries"].append(hit | {"subscription": -3, "first_seq": 9, "last_seq": 9, "arrival": 900})
    run.tables["deliveries"].append(hit | {"subscription": -1, "first_seq": 0, "last_seq": 4, "arrival": 901})
    return run


@recorded
def from_the_first_block():
    return for_another_cell(0)


@recorded
def from_the_second_block():
    return for_another_cell(1)


@pytest.mark.parametrize(("block", "name"), [(0, "from_the_first_block"), (1, "from_the_second_block")])
def test_a_copy_for_another_cell_is_misdelivered(results, block, name):
    """A copy that came to another cell's subscription has a number below 0: it counts on the cell of its lane."""
    found = {cell.key.cell: cell.copies for cell in results[name].cells}

    whole = PASSES * 2 * 10 * (1 + block)
    assert found.pop(rd.cell_name(0, 1 + block)) == LaneAudit(whole, whole + 5, lost=1, misdelivered=6)
    assert all(copies.exact for copies in found.values())


def queue(subscribers=3, messages=12):
    """A run with a queue beside an ordinary cell; the keys of the queue's cell in its second layout."""
    run = small_run([(0, 2)])
    keys = rd.add_cell(run, rd.queue_plan(subscribers), taken_s=[1e-4], messages=messages)
    return run, keys | {"layout": 2, "block": 0}


#: Copies of the queue's other layouts.
REST = (PASSES - 1) * 24


def queue_copies(result):
    """Of all layouts, less what the others have when nothing is wrong there."""
    (copies,) = (cell.copies for cell in result.cells if cell.key.cell == "queue")
    return replace(copies, expected=copies.expected - REST, delivered=copies.delivered - REST)


@recorded
def queue_shared_out():
    return queue()[0]


@recorded
def queue_at_one_consumer():
    run, keys = queue()
    for row in run.rows("deliveries", **keys):
        row["subscription"] = 2
    return run


@recorded
def queue_served_late():
    run, keys = queue()
    for row in run.rows("deliveries", **keys, subscription=0):
        row["arrival"] += 10_000
    return run


@recorded
def queue_gives_twice():
    run, keys = queue()
    twice, nobody, never = run.rows("deliveries", **keys, lane=0)[:3]
    run.tables["deliveries"].append(twice | {"subscription": (twice["subscription"] + 1) % 3, "arrival": 900})
    run.tables["deliveries"].remove(nobody)
    run.tables["deliveries"].append(never | {"subscription": 7, "arrival": 901})
    run.tables["deliveries"].append(never | {"first_seq": 99, "last_seq": 99, "arrival": 902})
    return run


@recorded
def queue_without_a_lane():
    run, keys = queue()
    run.tables["sends"] = [row for row in run.tables["sends"] if not (keys.items() <= row.items() and row["lane"] == 0)]
    return run


@recorded
def queue_out_of_order():
    run, keys = queue()
    first, second = run.rows("deliveries", **keys, subscription=1, lane=0)[:2]
    for name in ("first_seq", "last_seq"):
        first[name], second[name] = second[name], first[name]
    return run


#: Each is expected once, however they are shared out. A consumer that is served later than the others is no disorder;
#: a late arrival at one of them is, such as the second copy behind later ones.
QUEUES = {
    "queue_shared_out": LaneAudit(24, 24),
    "queue_at_one_consumer": LaneAudit(24, 24),
    "queue_served_late": LaneAudit(24, 24),
    "queue_gives_twice": LaneAudit(24, 26, lost=1, duplicated=1, reordered=1, misdelivered=2),
    "queue_without_a_lane": LaneAudit(12, 24, misdelivered=12),
    "queue_out_of_order": LaneAudit(24, 24, reordered=1),
}


@pytest.mark.parametrize(("name", "copies"), QUEUES.items(), ids=QUEUES)
def test_what_became_of_the_messages_of_a_queue(results, name, copies):
    """A second copy at another consumer is a duplicate, a message at none is lost, one at a stranger misdelivered, and
    so is whatever comes of a lane that sent nothing; the cell beside it is judged as ever."""
    result = results[name]

    assert queue_copies(result) == copies
    if copies.exact:
        assert (result.verdict, result.copies.expected) == (VerdictKind.VALID, PASSES * (24 + 40))


@settings(max_examples=100)
@given(st.lists(streams(), min_size=2, max_size=4), st.integers(0, 15), st.integers(0, 3))
def test_the_second_stage_brings_the_consumers_of_a_queue_together(handlers, sent, audience):
    """In batches cut anywhere, a queue's consumers are audited as one, and the pair beside them by itself."""
    numbers = [audience + place for place in range(len(handlers))]
    rows = [(0, 1, 0, audience, 5, handler, -1, -1, 0, -1, sent) for handler in numbers]
    for handler, stream in zip(numbers, handlers, strict=True):
        rows += [(0, 1, 0, audience, 5, handler, place, place, seq, seq, -1) for place, seq in enumerate(stream)]
    for layout, stranger in ((1, numbers[-1] + 1), (2, audience)):
        rows += [(0, layout, 0, stranger, 5, stranger, 0, 0, 3, 3, -1)]

    (judged,) = stages.judge(heard(rows))

    truth = audit_shared_lane([[(seq, seq) for seq in stream] for stream in handlers], sent)
    truth += LaneAudit(delivered=2, misdelivered=2)
    assert LaneAudit(*(judged.to_pylist()[0][name] for name in stages.COUNTS)) == truth


@recorded
def lost_in_preparation():
    run = small_run([(0, 2)], anchors=1)
    plan = rd.replication_plan(0, 1, experiment=CAPACITY, cell="latency-u30")
    keys = rd.add_cell(run, plan, taken_s=[1e-4], messages=10)
    run.rows("deliveries", **keys)[0]["last_seq"] -= 1
    run.rows("deliveries", experiment=ANCHOR)[3]["last_seq"] -= 2
    return run


def test_preparation_is_audited(results):
    """Anchors, and the closed loops that find a capacity, are audited like any traffic, although they are no cells."""
    assert {cell.key.experiment: cell.copies.lost for cell in results["lost_in_preparation"].cells} == {
        "replication": 0, CAPACITY: 1, ANCHOR: 2,
    }  # fmt: skip


@recorded
def for_somebody_else():
    run = small_run([(3, 1)])
    hit = run.rows("deliveries", cell="f0003-r001", lane=0)[0]
    hit["last_seq"] = 8
    run.tables["deliveries"].append(hit | {"subscription": 2, "arrival": 500, "first_seq": 9, "last_seq": 9})
    return run


def test_a_copy_for_somebody_else_is_misdelivered(results):
    """A redirected copy is one lost where it should be and one misdelivered where it should not."""
    result = results["for_somebody_else"]

    copies = next(cell.copies for cell in result.cells if cell.key.cell == "f0003-r001")
    assert (copies.lost, copies.misdelivered, copies.duplicated, copies.reordered) == (1, 1, 0, 0)
    assert [finding.what for finding in result.findings] == [
        "copies lost by for_somebody_else",
        "copies misdelivered by for_somebody_else",
    ]


@recorded
def nothing_recorded():
    run = small_run([(0, 2)])
    run.tables["deliveries"] = []
    return run


def test_a_worker_that_recorded_nothing_lost_everything(results):
    """A run without a single delivery row is all lost, not all right."""
    assert results["nothing_recorded"].copies == LaneAudit(expected=PASSES * 40, lost=PASSES * 40)


@recorded
def nothing_sent():
    run = small_run([(0, 2)])
    run.tables["deliveries"] = run.tables["sends"] = []
    return run


def test_nothing_sent_shows_nothing(results):
    """An audit of no traffic is not a pass."""
    result = results["nothing_sent"]

    assert result.verdict == VerdictKind.UNVERIFIED
    assert "nothing was sent" in result.findings[0].what


def test_faults_of_one_broker_and_start_stay_there(audits_of_runs):
    """Cells are keyed by run, broker and start: a loss in one shows in that one only."""
    _, result = audits_of_runs

    lost = {(cell.key.broker, cell.key.start): cell.copies.lost for cell in result.cells}
    assert {key: count for key, count in lost.items() if count} == {("artemis", 2): 3}
    assert len(lost) == 4
    assert [finding.broker for finding in result.findings] == ["artemis"]


@recorded
def sent_in_pieces():
    run = small_run([(0, 2)])
    row = run.tables["sends"].pop()
    run.tables["sends"] += [row | {"first_seq": 0, "last_seq": 3}, row | {"first_seq": 4, "last_seq": 9}]
    return run


def test_sends_of_a_lane_may_come_in_several_rows(results):
    """A lane recorded in pieces is the sum of its pieces."""
    assert results["sent_in_pieces"].verdict == VerdictKind.VALID


def test_deliveries_of_an_unknown_cell_are_refused(spark, tmp_path):
    """Rows that no plan explains cannot be judged, and are not passed over."""
    run = small_run([(0, 2)])
    run.tables["deliveries"][0]["cell"] = "elsewhere"

    with pytest.raises(DataError, match=r"replication elsewhere \(start 1\)"):
        audited(spark, run, tmp_path / "run")


def test_sends_of_an_unknown_start_are_refused(spark, tmp_path):
    """Likewise for what was sent, here in a start that the manifest does not know."""
    run = small_run([(0, 2)])
    stranger = run.tables["sends"][0]
    stranger["start"] = 7
    rd.add_layout(run, {name: stranger[name] for name in rd.LAYOUT}, 10**12)

    with pytest.raises(DataError, match=r"start 7"):
        audited(spark, run, tmp_path / "run")


@pytest.mark.parametrize("sends", [[(1, 9)], [(0, 5), (5, 9)], [(10, 19)], [(0, 9), (10, 9)]])
def test_sent_numbers_must_be_whole(spark, tmp_path, sends):
    """What came is judged by what was sent: numbers that start late, repeat, go on from the last layout instead of
    beginning anew, or end before they begin, are refused."""
    run = small_run([(0, 2)])
    row = run.rows("sends", layout=2)[0]
    run.tables["sends"].remove(row)
    run.tables["sends"] += [row | {"first_seq": first, "last_seq": last} for first, last in sends]

    with pytest.raises(DataError, match=r"without a gap in each layout"):
        audited(spark, run, tmp_path / "run")


def test_what_was_sent_is_expected_by_each_receiver_of_its_lane():
    """By the plan of its cell, in each layout; the receivers of a shared lane are one audience. A lane that nobody
    receives, and a cell without a plan, have a row for what was sent only."""
    plan = {
        3: [stages.Lanes(1, 2, 2, ((0, 1), (4, 4)), shared=False), stages.Lanes(0, 2, 1, ((2, 3),), shared=True)],
    }
    sent = [(3, 1, 0, 0, 0, 9), (3, 2, 0, 3, 0, 4), (3, 2, 0, 4, 0, 6), (3, 2, 0, 5, 5, 7), (-1, 1, 0, 1, 0, 1)]
    batch = pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*sent, strict=True)], list("abcdef"))

    rows = [tuple(row.values()) for out in stages.expect(plan, [batch]) for row in out.to_pylist()]

    senders = {(*row[:3], stages.SENDER, row[3], stages.SENDER, -1, -1, *row[4:], row[5] - row[4] + 1) for row in sent}
    shared = {(3, 1, 0, 2, 0, who, -1, -1, 0, -1, 10) for who in (2, 3)}
    assert len(rows) == len(sent) + 2 + 3
    assert set(rows) == senders | shared | {(3, 2, 0, who, 3, who, -1, -1, 0, -1, 5) for who in (0, 1, 4)}


def batch(*rows):
    """Delivery rows (arrival, first_seq, last_seq) of one pair, as the first stage gets them."""
    return stored([(*[0] * PAIR, *row) for row in rows])


@pytest.mark.parametrize("row", [(5, 3, 2), (-1, 3, 3), (5, -1, 0)])
def test_impossible_rows_are_refused(row):
    """Numbers below 0, or a run that ends before it begins, are not computed with."""
    with pytest.raises(ValueError, match="negative number, or its last_seq is below"):
        list(stages.collapse([batch((0, 0, 0), row)]))


def test_what_the_stages_refuse_is_a_refusal(spark, tmp_path):
    """An error raised in Spark's own processes arrives as a refusal that says what was wrong and where."""
    run = small_run([(0, 1)])
    run.tables["deliveries"][0]["first_seq"] = -1

    with pytest.raises(DataError, match="negative number") as error:
        audited(spark, run, tmp_path / "run")
    assert str(tmp_path / "run") in str(error.value)


def test_an_order_that_is_not_told_is_refused(spark, tmp_path):
    """Two rows at one place in the order of arrival are not taken to follow each other, although they would fit."""
    run = small_run([(0, 1)])
    row = run.tables["deliveries"][0]
    row["last_seq"] = 5
    run.tables["deliveries"].append(row | {"first_seq": 6, "last_seq": 9})

    with pytest.raises(DataError, match="not in the order of their arrival"):
        audited(spark, run, tmp_path / "run")


def test_collapsed_runs_that_overlap_in_time_are_noticed():
    """Rows of one pair stored out of order fall into two batches: joined runs would hide a late arrival."""
    # in the order of arrival: 0, 5, 1; stored as (0, 1) and (5)
    runs = list(stages.collapse([batch((0, 0, 0), (2, 1, 1)), batch((1, 5, 5))]))
    rows = [row for out in runs for row in zip(*(column.to_pylist() for column in out.columns), strict=True)]
    (judged,) = stages.judge(heard((*row[:3], row[3], row[4], row[3], *row[PAIR:]) for row in rows))

    assert judged.to_pylist()[0]["disordered"] == 1


@pytest.mark.parametrize("place", range(PAIR), ids=stages.PAIR)
def test_runs_of_two_pairs_are_never_joined(place):
    """Numbers that happen to continue at another subscriber, in another lane, layout, block or cell, are apart."""
    rows = np.array([[*[0] * PAIR, 0, 0, 4], [*[0] * PAIR, 1, 5, 9]])
    (joined,) = stages.collapse([stored(rows)])
    rows[1, place] = 1
    (out,) = stages.collapse([stored(rows)])

    assert (joined.num_rows, out.num_rows) == (1, 2)


def test_events_are_joined_before_they_travel():
    """The first stage leaves one run per pair of an unbroken stream, whatever the interleaving."""
    count = 3 * 4 * 50
    at = np.arange(count)
    columns = [*[np.zeros(count, int)] * 3, at % 3, at // 3 % 4, at, at // 12, at // 12]
    (out,) = stages.collapse([stored(np.array(columns).T)])

    assert out.num_rows == 12
    assert set(out["last_seq"].to_pylist()) == {49}


def test_events_are_audited_like_runs(spark, tmp_path):
    """A run recorded event by event, interleaved over its subscriptions, is audited as one recorded in runs."""
    path, truth = rd.write_events(tmp_path / "run", 12_000, faulty=True)
    runs = open_runs([path])

    (result,) = audit(frames(spark, runs), runs)

    assert result.copies == truth
    assert not truth.exact


def test_damaged_pages_are_refused(spark, tmp_path):
    """Damage that only shows when a column is read is a refusal with the run's path, not a traceback of the JVM."""
    folder = small_run([(0, 2)]).write(tmp_path / "run", by_layout=True)
    for file in (folder / "deliveries").iterdir():
        content = file.read_bytes()
        file.write_bytes(content[:4] + b"\xff" * 400 + content[404:])
    runs = open_runs([folder])

    with pytest.raises(DataError, match="cannot be read") as error:
        audit(frames(spark, runs), runs)
    assert str(folder) in str(error.value)

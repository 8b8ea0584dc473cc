"""From adjacent slices to ratios: exact by hand, free of the order, and what is refused instead of left out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import DataError
from analysis.gate.paired import CellRatio, cell_ratios, metric_rows
from analysis.gate.verdict import GateVerdict
from tests.bench_gate import BASELINE, JVM, QUIET
from tests.bench_gate import CELLS as PLANE
from tests.bench_gate import gate as simulated
from tests.bench_gate import pair as simulated_pair
from tests.support.gates import MESSAGES, adjacent, by_role
from workloads.gate import ALL_CELLS, GateRole
from workloads.limits import IDLE_BROKER
from workloads.throughput.families import COSTS

KEY, OTHER = ("replication", "f0000-r001"), ("replication", "f0640-r010")

TIMES = st.floats(1e-6, 1e-2)

#: Seconds per message of both brokers in a round.
BOTH = st.tuples(TIMES, TIMES)


def ratio(slices, pair=1) -> CellRatio:
    """Of a cell that was measured alone."""
    (found,) = cell_ratios(by_role({KEY: slices}), pair)
    return found


# Exact


def test_a_ratio_by_hand():
    """Means of the two orders in turn, and of these the Hodges-Lehmann estimate; all else about the cell as well."""
    # ln(candidate / baseline) by round: 0.2, 0.4 | 0.1, 0.3 | 0.9, 0.3; balanced: 0.3, 0.2, 0.6; of all means of two,
    # 0.2, 0.25, 0.3, 0.4, 0.45 and 0.6, the median is 0.35
    logs = (0.2, 0.4, 0.1, 0.3, 0.9, 0.3)
    found = ratio(adjacent([(1e-4, 1e-4 * math.exp(log)) for log in logs]), pair=3)

    assert (found.key, found.pair, found.measured, found.left_out) == (KEY, 3, 6, 0)
    assert found.log_ratio == pytest.approx(0.35, abs=1e-6)
    assert found.baseline_s == pytest.approx(1e-4)
    # candidate first, in even rounds: 1 / 3 on average; in odd rounds 0.4
    assert found.order_effect == pytest.approx((1 / 3 - 0.4) / 2, abs=1e-6)
    assert found.scatter == pytest.approx(math.sqrt(2) * np.std([0.3, 0.2, 0.6], ddof=1), abs=1e-6)


def test_a_disturbed_slice_has_little_weight():
    """A slice that a neighbour made ten times slower leaves the ratio as it is."""
    rounds = [(1e-4, 1.1e-4)] * 12
    rounds[4] = (1e-4, 11e-4)

    assert ratio(adjacent(rounds)).log_ratio == pytest.approx(math.log(1.1), abs=1e-6)


@given(rounds=st.lists(BOTH, min_size=1, max_size=4), second=st.floats(0.5, 2.0), effect=st.floats(0.5, 2.0))
def test_the_order_changes_nothing(rounds, second, effect):
    """However much slower the second of two adjacent slices is, the ratio stays; the effect itself is reported."""
    both_orders = [of_round for of_round in rounds for _ in range(2)]
    before = ratio(adjacent(both_orders, second=second))
    after = ratio(adjacent(both_orders, second=second * effect))

    assert after.log_ratio == pytest.approx(before.log_ratio, abs=1e-5)
    assert before.order_effect - after.order_effect == pytest.approx(math.log(effect), abs=1e-5)


@given(rounds=st.lists(BOTH, min_size=2, max_size=8).filter(lambda rounds: len(rounds) % 2 == 0))
def test_exchanged_roles_mirror_a_ratio(rounds):
    """Candidate / baseline is the inverse of baseline / candidate."""
    slices = adjacent(rounds)
    exchanged = dict(zip(GateRole, reversed(slices.values()), strict=True))

    assert ratio(exchanged).log_ratio == pytest.approx(-ratio(slices).log_ratio, abs=1e-9)


# Pauses for garbage collection


def test_young_collections_are_a_mean_by_hand():
    """Pauses of 40 ms in one of four slices of 0.1 s are 10 us of each message's 110 us, whatever the order."""
    slices = adjacent([(1e-4, 1e-4)] * 4)
    for place in range(4):
        disturbed = [*slices[GateRole.CANDIDATE]]
        longer = replace(disturbed[place], end_ns=disturbed[place].end_ns + 40_000_000, gc_pause_ns=40_000_000)
        disturbed[place] = longer
        found = ratio({**slices, GateRole.CANDIDATE: tuple(disturbed)})
        assert found.log_ratio == pytest.approx(math.log(1.1), abs=1e-6)
        assert found.order_effect == pytest.approx(0, abs=1e-6)


def test_full_collections_are_shared_by_all_cells_by_hand():
    """One of 40 ms while a cell ran belongs to the garbage of all: to 0.4 s and 0.4 s outside pauses, 5 % of each."""
    quiet = adjacent([(1e-4, 1e-4)] * 4)
    paused = [*adjacent([(1e-4, 1e-4)] * 4, place=1)[GateRole.CANDIDATE]]
    paused[2] = replace(paused[2], end_ns=paused[2].end_ns + 40_000_000, full_gc_pause_ns=40_000_000)
    other = {**adjacent([(1e-4, 1e-4)] * 4, place=1), GateRole.CANDIDATE: tuple(paused)}

    found = cell_ratios(by_role({KEY: quiet, OTHER: other}), 1)

    assert [of_cell.log_ratio for of_cell in found] == pytest.approx([math.log(1.05)] * 2, abs=1e-6)
    mirrored = cell_ratios(
        by_role(
            {
                key: dict(zip(GateRole, reversed(of_cell.values()), strict=True))
                for key, of_cell in {KEY: quiet, OTHER: other}.items()
            }
        ),
        1,
    )
    assert [of_cell.log_ratio for of_cell in mirrored] == pytest.approx([-math.log(1.05)] * 2, abs=1e-6)
    assert [of_cell.baseline_s for of_cell in mirrored] == pytest.approx([1.05e-4] * 2)


# What is left out, and what is refused


def busy(slices, places, role=GateRole.CANDIDATE):
    """The same with the other broker busier than the limit beside these slices."""
    share = IDLE_BROKER.limit * 1.01
    changed = [
        replace(window, idle_broker_cpu_ns=round(share * (window.end_ns - window.begin_ns)))
        if place in places
        else window
        for place, window in enumerate(slices[role])
    ]
    return {**slices, role: tuple(changed)}


@pytest.mark.parametrize("role", GateRole)
def test_slices_beside_a_busy_broker_are_left_out(role):
    """Each with one of the other order, so that the orders stay balanced; a share at the limit is idle."""
    slices = adjacent([(1e-4, 1.2e-4), (1e-4, 1.4e-4)] * 3, second=1.1)
    expected = (math.log(1.2) + math.log(1.4)) / 2

    found = ratio(busy(slices, {2}, role))

    assert (found.measured, found.left_out) == (6, 2)
    assert found.log_ratio == pytest.approx(expected, abs=1e-6)
    at_limit = replace(slices[role][2], idle_broker_cpu_ns=round(IDLE_BROKER.limit * MESSAGES * 1e-4 * 1e9))
    assert ratio({**slices, role: (*slices[role][:2], at_limit, *slices[role][3:])}).left_out == 0


def test_a_cell_without_quiet_slices_of_both_orders_is_marked():
    """Where every slice of an order was beside a busy broker, all count as left out, which contaminates the gate."""
    found = ratio(busy(adjacent([(1e-4, 1e-4)] * 4), {0, 2}))

    assert (found.measured, found.left_out) == (4, 4)


def test_slices_of_one_order_alone_are_refused():
    """There is no ratio, and the gate has an error."""
    slices = adjacent([(1e-4, 1e-4)] * 4)
    alone = {role: tuple(window for window in slices[role] if window.round % 2) for role in slices}

    with pytest.raises(DataError, match=r"f0000-r001, pair of lives 1: fewer than two pairs of slices"):
        ratio(alone)


def _without(role):
    slices = adjacent([(1e-4, 1e-4)] * 4)
    return {**slices, role: slices[role][1:]}


def _silent(role):
    slices = adjacent([(1e-4, 1e-4)] * 4)
    return {**slices, role: (replace(slices[role][0], dispatched=0), *slices[role][1:])}


def _apart(role):
    slices = adjacent([(1e-4, 1e-4)] * 4)
    return {**slices, role: (replace(slices[role][0], position=7), *slices[role][1:])}


@pytest.mark.parametrize("role", GateRole)
@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (_without, "a slice of one broker has none of the other in the same round"),
        (_silent, "the {role} delivered nothing in a slice"),
        (_apart, "the slices of the two brokers in a round are not adjacent"),
    ],
)
def test_slices_that_cannot_be_compared_are_refused(role, broken, message):
    """A slice without its neighbour or without a message is an error, and never a pass or a faster candidate."""
    with pytest.raises(DataError, match=f"replication f0000-r001: {message.format(role=role)}"):
        ratio(broken(role))


@pytest.mark.parametrize("role", GateRole)
@pytest.mark.parametrize("left", [(), (KEY,)])
def test_a_missing_cell_is_refused(role, left):
    """Of either broker, whether it has other cells or none."""
    windows = by_role({KEY: adjacent([(1e-4, 1e-4)] * 2), OTHER: adjacent([(1e-4, 1e-4)] * 2, place=1)})
    windows[role] = {key: windows[role][key] for key in left}

    missing = OTHER if left else KEY
    with pytest.raises(DataError, match=f"{' '.join(missing)}, pair of lives 4: the {role} has no slice of it"):
        cell_ratios(windows, 4)


# Families


def cell_ratio(key, pair, log_ratio, baseline_s):
    return CellRatio(key, pair, log_ratio, baseline_s, 0.0, None, 2, 0)


def plane(key, change):
    n_fltr, copies = PLANE[key]
    costs = {name: BASELINE[name] * change.get(name, 1.0) for name in COSTS}
    return costs["t_rcv"] + n_fltr * costs["t_fltr"] + copies * costs["t_tx"]


def of_planes(*changes):
    """The ratios of all cells without any scatter, a pair of lives for each change."""
    return [
        cell_ratio(key, pair, math.log(plane(key, change) / plane(key, {})), plane(key, {}))
        for pair, change in enumerate(changes, 1)
        for key in PLANE
    ]


@pytest.mark.parametrize("name", COSTS)
def test_a_cost_that_changed_is_named_alone(name):
    """By exactly its change, in each pair of lives; the other costs stay, and all cells have the mean of theirs."""
    ratios = of_planes({name: 1.3}, {name: 0.8})
    found = {(row.family, row.pair): row.log_ratio for row in metric_rows(ratios, PLANE, (*COSTS, ALL_CELLS))}

    assert list(found) == [(family, pair) for family in (*COSTS, ALL_CELLS) for pair in (1, 2)]
    for family in COSTS:
        expected = (math.log(1.3), math.log(0.8)) if family == name else (0.0, 0.0)
        assert [found[family, pair] for pair in (1, 2)] == pytest.approx(expected, abs=1e-6)
    for pair in (1, 2):
        mean = np.mean([of_cell.log_ratio for of_cell in ratios if of_cell.pair == pair])
        assert found[ALL_CELLS, pair] == pytest.approx(mean)


def test_a_cost_that_is_not_above_0_has_no_row_value():
    """A candidate whose plane has a negative cost has no logarithm of that cost; the others have theirs."""
    ratios = of_planes({}, {"t_rcv": -0.1})
    found = {(row.family, row.pair): row.log_ratio for row in metric_rows(ratios, PLANE, (*COSTS, ALL_CELLS))}

    assert found["t_rcv", 2] is None
    assert found["t_rcv", 1] == pytest.approx(0, abs=1e-9)
    assert all(found[family, 2] is not None for family in ("t_fltr", "t_tx", ALL_CELLS))


def test_cells_of_no_model():
    """Without factors there is the mean of all cells, and nothing else."""
    rows = metric_rows([cell_ratio(KEY, 1, 0.1, 1e-4), cell_ratio(OTHER, 1, 0.3, 1e-4)], {}, (ALL_CELLS,))

    assert [(row.family, row.pair, row.log_ratio) for row in rows] == [(ALL_CELLS, 1, pytest.approx(0.2))]


def test_a_pair_without_a_cell_is_refused():
    """A cell that another pair of lives has is not left out of the mean."""
    with pytest.raises(DataError, match="pair of lives 2 lacks the cell replication f1280-r010"):
        metric_rows(of_planes({}, {})[:-1], PLANE, (*COSTS, ALL_CELLS))


def test_costs_that_the_cells_do_not_separate_are_refused():
    """Nothing is fitted to cells in which two factors vary together."""
    one_grade = {key: factors for key, factors in PLANE.items() if factors[1] == 1}
    with pytest.raises(DataError, match="the cells do not separate t_rcv, t_fltr, t_tx"):
        metric_rows(of_planes({}), one_grade, (*COSTS, ALL_CELLS))


# Simulated gates, from slices on a host with phases to the verdict; `tests/bench_gate.py` has the rates of many


SEEDS = range(3)


def test_an_unchanged_broker_is_not_called_slower():
    """A JVM that scatters as measured ones do, on a host with slow phases: neither regressed nor faster."""
    for seed in SEEDS:
        assert simulated(seed, JVM, 0.05, {})[0].verdict in {GateVerdict.PASS, GateVerdict.INCONCLUSIVE}


@pytest.mark.parametrize("name", COSTS)
def test_a_single_slower_cost_is_found_and_named(name):
    """10 % of one cost are a regression of that family, and of no other cost."""
    for seed in SEEDS:
        judgement, _ = simulated(seed, QUIET, 0.05, {name: 1.1})
        slower = {found.family for found in judgement.families if found.verdict is GateVerdict.REGRESSED}
        assert judgement.verdict is GateVerdict.REGRESSED
        assert slower - {ALL_CELLS} == {name}


def test_a_faster_broker_passes_as_faster():
    """10 % less of all costs."""
    for seed in SEEDS:
        assert simulated(seed, QUIET, 0.05, dict.fromkeys(COSTS, 0.9))[0].verdict is GateVerdict.FASTER


def test_an_effect_of_the_order_cancels():
    """The same slices with the second ones 10 % slower lead to the same ratios of all cells."""
    for seed in SEEDS:
        plain, slower = (
            cell_ratios(simulated_pair(np.random.default_rng(seed), QUIET, {}, 1, effect), 1) for effect in (0.0, 0.1)
        )
        logs = [[of_cell.log_ratio for of_cell in found] for found in (plain, slower)]
        assert logs[0] == pytest.approx(logs[1], abs=0.002)
        assert all(of_cell.order_effect == pytest.approx(-0.1, abs=0.1) for of_cell in slower)
        assert simulated(seed, QUIET, 0.05, {}, order_effect=0.1)[0].verdict is GateVerdict.PASS


def test_a_bad_start_is_not_called_slower():
    """A candidate whose second start alone is 30 % slower does not turn the gate red."""
    for seed in SEEDS:
        assert simulated(seed, JVM, 0.05, {}, bad_pair=0.3)[0].verdict is not GateVerdict.REGRESSED

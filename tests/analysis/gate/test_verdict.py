"""The rules of a gate against scipy's t test and numbers computed by hand, and what must not change a verdict."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from statistics import fmean, median

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.gate.verdict import (
    ALPHA,
    POWER,
    GateVerdict,
    Judgement,
    hodges_lehmann,
    judge,
    smallest_detectable,
    smallest_margin,
    worst,
)
from tests.support.gates import family, rows, rules
from workloads.gate import ALL_CELLS, CONFIRMING_PAIRS, FEWEST_PAIRS, LOOKS, SCENARIO_FAMILIES
from workloads.throughput.families import COSTS

FAMILIES = (*COSTS, ALL_CELLS)

#: Scatter of a ratio between pairs of lives, whose two starts scatter by 2 % each.
SCATTER = math.sqrt(2) * 0.02

#: Deviations of five pairs whose mean is 0 and whose standard deviation is 1.
FIVE = tuple(value / math.sqrt(2.5) for value in (-2, -1, 0, 1, 2))

#: A gate that is judged once and at once.
ONCE = {"looks": (5,), "confirming": 0}

LOGS = st.floats(-0.5, 0.5, allow_nan=False)


@st.composite
def values(draw, names=FAMILIES, pairs=FEWEST_PAIRS, least=1):
    """Logarithms of ratios of some families; their scatter goes from almost none to more than any change."""
    chosen = draw(st.lists(st.sampled_from(names), min_size=least, max_size=len(names), unique=True))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    found = {}
    for name in chosen:
        mean, scatter = draw(st.sampled_from((-0.2, -0.06, -0.03, 0.0, 0.03, 0.06, 0.2))), draw(st.floats(1e-4, 0.2))
        found[name] = (mean + scatter * generator.standard_normal(pairs)).tolist()
    return found


def verdicts(judgement: Judgement) -> dict[str, GateVerdict]:
    return {found.family: found.verdict for found in judgement.families}


def five(mean: float, p: float) -> list[float]:
    """Five pairs with this mean, whose t test has this p value."""
    t = float(scipy.stats.t.isf(p / 2, 4))
    return [mean + abs(mean) * math.sqrt(5) / t * deviation for deviation in FIVE]


# A look


def looked_at(by_family, alpha, margin):
    """The rules written out once more, with scipy's t test and interval."""
    limit = math.log1p(margin)
    p = {name: scipy.stats.ttest_1samp(logs, 0).pvalue for name, logs in by_family.items()}
    found, rejected = {}, True
    for place, name in enumerate(sorted(p, key=p.get)):
        rejected = rejected and p[name] <= alpha / (len(p) - place)
        mean, error = fmean(by_family[name]), scipy.stats.sem(by_family[name])
        upper = scipy.stats.t.interval(1 - alpha, len(by_family[name]) - 1, mean, error)[1]
        if rejected and abs(mean) > limit:
            found[name] = GateVerdict.REGRESSED if mean > 0 else GateVerdict.FASTER
        else:
            found[name] = GateVerdict.PASS if upper < limit else GateVerdict.INCONCLUSIVE
    return found


@given(by_family=values(pairs=7), margin=st.sampled_from((0.01, 0.05, 0.1)))
def test_a_single_look_is_the_t_test(by_family, margin):
    """Verdicts of all families are those of scipy's t test and interval with Holm's correction."""
    judgement = judge(rows(by_family), rules(margin=margin, looks=(7,), confirming=0))

    assert verdicts(judgement) == looked_at(by_family, ALPHA, margin)
    assert judgement.more_pairs == 0


@pytest.mark.parametrize(
    ("p", "regressed"),
    [
        # 0.05 / 3, 0.05 / 2 and 0.05 / 1 are the limits, from the smallest on
        ((0.016, 0.024, 0.049), {"t_rcv", "t_fltr", "t_tx"}),
        ((0.016, 0.026, 0.026), {"t_rcv"}),
        ((0.017, 0.017, 0.017), set()),
        ((0.049, 0.016, 0.051), {"t_fltr"}),
        ((0.049, 0.016, 0.024), {"t_rcv", "t_fltr", "t_tx"}),
    ],
)
def test_holm_by_hand(p, regressed):
    """The smallest p value is compared with a third of the error, the next one with half, until one is too large."""
    by_family = {name: five(0.3, of_family) for name, of_family in zip(COSTS, p, strict=True)}

    found = verdicts(judge(rows(by_family), rules(**ONCE)))

    assert {name for name, verdict in found.items() if verdict is GateVerdict.REGRESSED} == regressed


def test_the_error_is_shared_by_the_looks():
    """With three looks a third of the error belongs to the first: what a single look calls a change, it does not."""
    by_family = {ALL_CELLS: five(0.3, 0.02)}

    assert verdicts(judge(rows(by_family), rules(**ONCE))) == {ALL_CELLS: GateVerdict.REGRESSED}
    assert judge(rows(by_family), rules()).reason == "look after 8 pairs of lives"
    assert "confirm" in judge(rows({ALL_CELLS: five(0.3, 0.016)}), rules()).reason


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [(0.0486, GateVerdict.INCONCLUSIVE), (0.0490, GateVerdict.REGRESSED), (-0.0490, GateVerdict.FASTER)],
)
def test_a_change_is_beyond_the_margin(mean, verdict):
    """A difference that is certain is a change only if the estimate exceeds the margin, 5 % or 0.0488 here."""
    assert verdicts(judge(rows({"t_rcv": five(mean, 1e-4)}), rules(**ONCE))) == {"t_rcv": verdict}


def test_pairs_that_do_not_differ():
    """Without any scatter 0 is no change and 10 % is one."""
    judgement = judge(rows({"t_rcv": [0.0] * 5, "t_tx": [0.1] * 5}), rules(**ONCE))

    assert verdicts(judgement) == {"t_rcv": GateVerdict.PASS, "t_tx": GateVerdict.REGRESSED}


# Looks and confirmation


def test_a_gate_can_fire_at_its_smallest_number_of_pairs():
    """A change of 15 % with 2 % of scatter per start is suspected after five pairs and called after five more."""
    shifted = [0.14 + SCATTER * deviation for deviation in FIVE]
    by_family = dict.fromkeys(FAMILIES, shifted)

    first = judge(rows(by_family), rules())
    last = judge(rows(dict.fromkeys(FAMILIES, 2 * shifted)), rules())

    assert (LOOKS[0], first.more_pairs) == (FEWEST_PAIRS, CONFIRMING_PAIRS)
    assert first.reason == f"fresh pairs of lives must confirm the change of {', '.join(FAMILIES)}"
    assert GateVerdict.REGRESSED not in verdicts(first).values()
    assert last.more_pairs == 0
    assert last.verdict is GateVerdict.REGRESSED


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("mean", "p", "confirmed"),
    [
        (0.1, 0.04, True),
        (0.1, 0.06, False),  # covers 0
        (0.04, 1e-5, False),  # below the margin
        (-0.1, 1e-5, False),  # in the other direction
    ],
)
def test_fresh_pairs_are_judged_alone(mean, p, confirmed, sign):
    """A suspicion, however strong, counts only if five pairs that did not raise it show the same by themselves."""
    by_family = {ALL_CELLS: [sign * value for value in five(0.3, 1e-6) + five(mean, p)]}

    found = judge(rows(by_family), rules()).verdict

    assert (found in {GateVerdict.REGRESSED, GateVerdict.FASTER}) == confirmed
    assert not confirmed or found is (GateVerdict.REGRESSED if sign > 0 else GateVerdict.FASTER)


def test_a_suspicion_that_fresh_pairs_do_not_show_is_judged_again():
    """By all pairs at the next look: nothing passes by leaving out the pairs that raised the suspicion."""
    first, fresh = [0.075, 0.0775, 0.08, 0.0825, 0.085], [0.015, 0.0175, 0.02, 0.0225, 0.025]
    suspected = judge(rows({ALL_CELLS: first}), rules())
    again = judge(rows({ALL_CELLS: first + fresh}), rules())
    every = first + fresh + [0.0, 0.001]
    ended = judge(rows({ALL_CELLS: every}), rules(looks=(5, 12)))

    assert suspected.reason.startswith("fresh pairs of lives must confirm")
    assert again.verdict is GateVerdict.INCONCLUSIVE  # the mean of the ten is +5.1 %, at the margin
    assert again.more_pairs > 0
    assert (ended.verdict, ended.more_pairs) == (GateVerdict.INCONCLUSIVE, 0)
    assert scipy.stats.t.interval(1 - ALPHA / 2, 11, fmean(every), scipy.stats.sem(every))[1] > math.log1p(0.05)


def test_one_bad_pair_of_lives_is_no_regression():
    """A pair in which everything was 30 % slower makes a gate longer, and not red."""
    calm = [0.002 * value for value in (-1, 1, 0, 2, -2, 1, -1, 0, 1, -2, 2, 0)]
    for place in range(LOOKS[-1]):
        bad = [value + (0.26 if pair == place else 0.0) for pair, value in enumerate(calm)]
        assert judge(rows(dict.fromkeys(FAMILIES, bad)), rules()).verdict is not GateVerdict.REGRESSED


@given(by_family=values(pairs=25))
def test_a_gate_ends_and_does_not_change_its_mind(by_family):
    """After the pairs that each decision asks for a gate has ended, within its limit; later pairs change no verdict."""
    asked, measured = rules(), LOOKS[0]
    while more := judge(rows({name: logs[:measured] for name, logs in by_family.items()}), asked).more_pairs:
        measured += more
    ended = judge(rows({name: logs[:measured] for name, logs in by_family.items()}), asked)

    assert measured <= asked.most_pairs == 20
    assert verdicts(judge(rows(by_family), asked)) == verdicts(ended)


def test_only_what_may_decide_takes_more_pairs():
    """A cost that scatters does not hold up a gate whose deciding families have passed, unless it seems slower."""
    steady = {ALL_CELLS: [0.001 * value for value in FIVE], "t_tx": [0.001 * value for value in FIVE]}

    assert judge(rows(steady | {"t_rcv": [0.5 * value for value in FIVE]}), rules()).more_pairs == 0
    assert judge(rows(steady | {"t_rcv": [0.1 + 0.5 * value for value in FIVE]}), rules()).more_pairs == 3


# What must not matter


@given(by_family=values(pairs=12), data=st.data())
def test_rows_alone_decide(by_family, data):
    """The same rows lead to the same judgement, in whatever order they come."""
    ordered = rows(by_family)
    shuffled = data.draw(st.permutations(ordered))

    first, second = judge(ordered, rules()), judge(shuffled, rules())

    assert {found.family: found for found in first.families} == {found.family: found for found in second.families}
    assert (first.more_pairs, first.verdict) == (second.more_pairs, second.verdict)


@given(by_family=values(pairs=10), confirming=st.sampled_from((0, 5)))
def test_exchanged_roles_exchange_the_verdicts(by_family, confirming):
    """Baseline and candidate exchanged: `regressed` becomes `faster` of the same families, and back."""
    asked = rules(looks=(5,), confirming=confirming)
    mirrored = {name: [-value for value in logs] for name, logs in by_family.items()}

    there, back = (verdicts(judge(rows(logs), asked)) for logs in (by_family, mirrored))

    for verdict, other in ((GateVerdict.REGRESSED, GateVerdict.FASTER), (GateVerdict.FASTER, GateVerdict.REGRESSED)):
        assert {name for name in there if there[name] is verdict} == {name for name in back if back[name] is other}


# What is shown


@given(logs=st.lists(LOGS, min_size=2, max_size=12))
def test_ratio_and_interval(logs):
    """The ratio is the geometric mean, its interval that of scipy; the robust one is the median of all pairs' means."""
    assume(np.std(logs) > 1e-9)
    (found,) = judge(rows({ALL_CELLS: logs}), rules(looks=(len(logs),), confirming=0)).families
    low, high = scipy.stats.t.interval(0.95, len(logs) - 1, fmean(logs), scipy.stats.sem(logs))

    assert found.ratio.estimate == pytest.approx(math.exp(fmean(logs)))
    assert found.ratio.ci95 == pytest.approx([math.exp(low), math.exp(high)])
    assert found.scatter_of_pairs == pytest.approx(np.std(logs, ddof=1))
    means = [(first + second) / 2 for first, second in combinations_with_replacement(logs, 2)]
    assert found.robust_ratio == pytest.approx(math.exp(median(means)))
    assert hodges_lehmann(logs) == pytest.approx(median(means))


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(ALPHA / 3, {5: 0.062, 8: 0.040, 12: 0.030}), (ALPHA / 3 / 4, {5: 0.086, 8: 0.051, 12: 0.037})],
)
def test_the_smallest_change_that_is_detected(alpha, expected):
    """With 2 % of scatter per start: as logarithms 6.2, 4.0 and 3.0 % for one family, 8.6, 5.1 and 3.7 % for four."""
    for pairs, figure in expected.items():
        found = math.log1p(smallest_detectable(SCATTER, pairs, alpha))
        critical = scipy.stats.t.isf(alpha / 2, pairs - 1)
        power = scipy.stats.nct.sf(critical, pairs - 1, found / SCATTER * math.sqrt(pairs))

        assert round(found, 3) == figure
        assert 0.72 < power < POWER


def test_the_smallest_change_is_that_of_the_gate():
    """A family shows the change for its pairs, with the error of a look shared by all families."""
    shifted = [SCATTER * deviation for deviation in FIVE]

    for names in (FAMILIES[:1], FAMILIES):
        (found, *_) = judge(rows(dict.fromkeys(names, shifted)), rules()).families
        expected = smallest_detectable(SCATTER, 5, ALPHA / len(LOOKS) / len(names))
        assert found.smallest_detectable == pytest.approx(expected)
    assert smallest_margin(SCATTER) == pytest.approx(math.expm1(0.0302), rel=0.01)


@pytest.mark.parametrize(
    ("found", "overall"),
    [
        ("regressed pass pass pass", "regressed"),
        ("inconclusive inconclusive pass pass", "pass"),
        ("faster faster pass pass", "pass"),
        ("pass pass pass faster", "faster"),
        ("pass pass inconclusive faster", "inconclusive"),
        ("faster regressed faster faster", "regressed"),
        ("pass pass faster inconclusive", "inconclusive"),
    ],
)
def test_the_overall_verdict(found, overall):
    """A regression of any family counts; else `all cells` and `t_tx` decide."""
    families = tuple(family(name, GateVerdict(word)) for name, word in zip(FAMILIES, found.split(), strict=True))

    assert Judgement(families, 0, "").verdict is GateVerdict(overall)


def test_families_of_which_none_decides():
    """Those of a business workload decide together, the worst one first."""
    for last, overall in ((GateVerdict.PASS, GateVerdict.PASS), (GateVerdict.INCONCLUSIVE, GateVerdict.INCONCLUSIVE)):
        families = [family(name, GateVerdict.PASS) for name in SCENARIO_FAMILIES[:2]]
        assert Judgement((*families, family(SCENARIO_FAMILIES[2], last)), 0, "").verdict is overall


def test_the_worst_of_several_gates():
    """Lost messages before everything else, and a gate that is faster never hides one that is inconclusive."""
    order = ("failed", "contaminated", "regressed", "inconclusive", "faster", "pass")

    assert [worst(map(GateVerdict, order[place:])) for place in range(len(order))] == list(order)


# Costs that are not above 0, margins, and rows that are not complete


def test_a_cost_that_is_not_above_0_has_no_ratio():
    """It is inconclusive and holds up nothing; where it decides, the gate has not passed."""
    steady = [0.001 * value for value in FIVE]
    unknown = [*steady[:4], None]

    judgement = judge(rows({"t_rcv": unknown, "t_tx": steady, ALL_CELLS: steady}), rules())
    found = judgement.families[0]
    assert (found.ratio, found.smallest_detectable, found.scatter_of_pairs) == (None, None, None)
    assert found.verdict is GateVerdict.INCONCLUSIVE
    assert (judgement.verdict, judgement.more_pairs) == (GateVerdict.PASS, 0)
    assert judge(rows({"t_tx": unknown, ALL_CELLS: steady}), rules()).verdict is GateVerdict.INCONCLUSIVE


def test_a_regression_stays_one():
    """A family that was called regressed stays so, also if its cost is not above 0 in a pair that others ask for."""
    slower = [0.2 + SCATTER * value for value in FIVE] * 2
    wide = [0.3 * value for value in FIVE] * 2

    judgement = judge(rows({"t_rcv": [*slower, 0.2, None], ALL_CELLS: [*wide, 0.4, -0.4]}), rules())

    assert verdicts(judgement)["t_rcv"] is GateVerdict.REGRESSED
    assert judgement.verdict is GateVerdict.REGRESSED
    assert judgement.families[0].ratio is None


def test_a_calibrated_margin_is_for_costs_that_do_not_decide():
    """A cost that a calibration found to be noisy has its own margin; that of `t_tx` stays the one asked for."""
    slower = [0.1 + 0.001 * value for value in FIVE]
    judgement = judge(
        rows({"t_rcv": slower, "t_tx": slower}), rules(**ONCE, calibrated={"t_rcv": 0.2, "t_tx": 0.2, "t_fltr": 0.01})
    )

    assert verdicts(judgement) == {"t_rcv": GateVerdict.PASS, "t_tx": GateVerdict.REGRESSED}
    assert [found.margin for found in judgement.families] == [0.2, 0.05]
    assert rules(calibrated={"t_fltr": 0.01}).margin_of("t_fltr") == 0.05


@pytest.mark.parametrize(
    ("given_rows", "message"),
    [
        ([], "numbered from 1 without a gap, got"),
        (rows({ALL_CELLS: [0.0] * 5})[1:], "numbered from 1 without a gap, got"),
        (
            rows({ALL_CELLS: [0.0] * 5, "t_tx": [0.0] * 4}),
            r"t_tx: expected pairs \[1, 2, 3, 4, 5\], got",
        ),
    ],
)
def test_rows_that_are_not_complete(given_rows, message):
    """No pair, a gap, or a family that lacks a pair is an error, and never a pass."""
    with pytest.raises(ValueError, match=message):
        judge(given_rows, rules())

"""The claims of the paper, judged on runs made up from its own figures, and on runs that contradict them."""

import re
from dataclasses import replace
from functools import cache
from zlib import crc32

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use

from analysis.intervals import jackknife
from analysis.results import CellKey, Interval
from analysis.throughput.claims import SAME, TABLE, claims
from analysis.throughput.cost_model import PAPER, processing_time_s
from analysis.throughput.fit import fits
from microbench import (
    test_and_filters,
    test_correlation_filters,
    test_different_filters,
    test_filter_activation,
    test_or_filters,
    test_publishers_subscribers,
    test_replication,
)
from tests.support.fit_cells import cell_summary, reciprocal, window
from workloads.ranges import LARGER, published
from workloads.status import CellStatus, ClaimVerdict
from workloads.throughput.flow import PROFILES, Cell

REPRODUCED, NOT_REPRODUCED, NOT_DECIDABLE = ClaimVerdict

EXPERIMENTS = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        test_publishers_subscribers,
        test_filter_activation,
        test_or_filters,
        test_and_filters,
        test_replication,
        test_different_filters,
        test_correlation_filters,
    )
}


def publishers_subscribers(publishers, subscribers):
    """Section 4.1: 34,000 messages/s in all with one subscriber, 60,000 with ten; 130 received with 320."""
    overall = float(np.interp(np.log(subscribers), np.log((1, 10, 320)), (34e3, 60e3, 130 * 321)))
    if (publishers, subscribers) == (16, 10):
        overall = 62e3
    return overall * min(1.0, 0.2 + 0.08 * publishers) / (1 + subscribers)


def filter_activation(**factors):
    """Section 4.2: 50,000 messages/s in all above 300 filters; the correlation id slightly faster than the property."""
    overall = float(np.interp(factors["subscribers"], (1, 10, 300, 500), (34e3, 60e3, 50e3, 50e3)))
    slower = {"none": 1.0, "correlation": 1.0, "property": 0.96}[factors["filter"]]
    return overall * slower / (1 + factors["subscribers"])


def or_filters(kind, ids, **factors):
    """Section 4.3: one order of magnitude, simple filters mostly lower; correlation id and property alike."""
    slower = 0.75 if kind == "simple" and ids > 5 else 1.05 if kind == "simple" else 1.0
    return 15e3 / (1 + ids / 300) * slower * {"correlation": 1.0, "property": 0.97}[factors["filter"]]


def and_filters(series, length):
    """Section 4.4: longer filters are slower in all series, the more the later a message is rejected."""
    evaluated = {1: 1, 2: (length + 1) / 2, 3: length}[series]
    return 1 / (60e-6 + 10 * 0.3e-6 * evaluated + 0.8e-6 * length)


def replication(further, replication):
    """Section 4.5: the model with its three constants; r = 20 and 40 below it."""
    capped = 0.8 if replication > 10 else 1.0
    return capped / processing_time_s(PAPER, further + replication, replication)


#: Received messages/s, by experiment, from a cell's factors.
WORLD = {
    "publishers_subscribers": publishers_subscribers,
    "filter_activation": filter_activation,
    "or_filters": or_filters,
    "and_filters": and_filters,
    "replication": replication,
    "different_filters": replication,
    "correlation_filters": lambda **factors: 1.02 * replication(**factors),
}

#: Layouts of a start, and how much the same cell differs between them.
LAYOUTS, SCATTER = 8, 0.01


@cache
def layout_factors(experiment, cell, start, scatter, layouts):
    """What each layout does to a cell's rate: geometric mean 1, and exactly this standard deviation of logarithms."""
    drawn = np.random.default_rng(crc32(f"{experiment} {cell} {start}".encode())).standard_normal(layouts)
    return np.exp(scatter * scipy.stats.zscore(drawn, ddof=1)) if layouts > 1 else np.ones(1)


@cache
def plan_numbers(experiment, cell, *levels):
    """n_fltr and r of a cell, from the plan that would be measured."""
    names = EXPERIMENTS[experiment].cells("paper")[0].factors
    plan = EXPERIMENTS[experiment].plan(Cell(cell, dict(zip(names, levels, strict=True))), PROFILES["today"])
    return plan.n_fltr, plan.replication


def measured(
    experiment,
    cell,
    received_per_s,
    *,
    start=1,
    scatter=SCATTER,
    layouts=LAYOUTS,
    levels=None,
    conserved=1.0,
    **changes,
):
    """A cell that received this many messages/s, geometric mean over its layouts; `levels` are those of the layouts.

    Each layout has a slice of a million seconds: whole messages, exact ratios.
    """
    n_fltr, replication_grade = plan_numbers(experiment, cell.id, *cell.factors.values())
    rates = received_per_s * layout_factors(experiment, cell.id, start, scatter, layouts)
    rates *= 1 if levels is None else np.array(levels)
    alone = experiment == "publishers_subscribers" and cell.factors["subscribers"] == 1
    cpu = changes.pop("broker_cpu", 0.7 if alone else 0.98)
    made = []
    for number, rate in enumerate(rates):
        received = round(1e6 * rate)
        copies = round(received * replication_grade)
        dispatched = round(copies * conserved)
        cpu_ns = None if cpu is None else round(cpu * 1e15)
        place = {"layout": 1 + number, "expected": copies, "dispatched": dispatched, "broker_cpu_ns": cpu_ns}
        made.append(window(number, number * 10**16, 1e6, received, **place))
    logs = np.log(rates)
    replicates = [np.exp(-np.delete(logs, one).mean()) for one in range(layouts)] if layouts >= 4 else []
    processing = jackknife(np.exp(-logs.mean()), replicates)
    received = reciprocal(processing)
    copies = replication_grade * conserved
    values = {
        "factors": cell.factors,
        "n_fltr": n_fltr,
        "replication": replication_grade,
        "fits_model": EXPERIMENTS[experiment].fits_model,
        "received_per_s": received,
        "dispatched_per_s": times(received, copies),
        "overall_per_s": times(received, 1 + copies),
        "processing_s": processing,
        "replicates_s": tuple(map(float, replicates)),
        "mean_processing_s": processing.estimate,
        "broker_cpu": cpu,
        "conservation": conserved,
        "windows": tuple(made),
        "layouts": layouts,
        "status": CellStatus.NOT_SATURATED if cpu is not None and cpu < 0.95 else CellStatus.OK,
        "reason": "" if cpu is None or cpu >= 0.95 else f"broker CPU {cpu}",
    }
    return cell_summary(CellKey("run", "activemq", start, experiment, cell.id), **(values | changes))


def times(interval, factor):
    return Interval(factor * interval.estimate, *(factor * end for end in interval.ci95 or []))


def a_run(*experiments, world=WORLD, grid="paper", starts=1, factor=lambda start, cell: 1.0, **changes):
    """The cells of these experiments (all, if none is named) as the world has them."""
    return [
        measured(name, cell, world[name](**cell.factors) * factor(start, cell), start=start, **changes)
        for start in range(1, starts + 1)
        for name in experiments or EXPERIMENTS
        for cell in EXPERIMENTS[name].cells(grid)
    ]


def judged(cells, run="run"):
    """Claim -> its row; of one broker and profile."""
    rows = claims(run, cells, fits(cells)[0])
    assert len({row.claim for row in rows}) == len(rows)
    return {row.claim: row for row in rows}


def the(text, rows):
    """The one row whose claim holds this text."""
    (row,) = (row for claim, row in rows.items() if text in claim)
    return row


@pytest.fixture(scope="module")
def as_published():
    return judged(a_run())


# --- the paper's own figures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [row.claim for row in TABLE])
def test_the_figures_of_the_paper_support_its_claims(as_published, claim):
    """All of them but one of the two that contradict each other: by its own model, the impact of filters is slight."""
    expected = NOT_REPRODUCED if "significantly" in claim else REPRODUCED

    assert as_published[claim].verdict == expected, as_published[claim]


def test_every_claim_has_its_section_and_what_was_published(as_published):
    """24 rows, with the paper's sections 4.1 to 4.5, its abstract and its conclusion."""
    assert len(as_published) == len(TABLE) == 24
    assert {row.section for row in as_published.values()} == {
        "4.1", "4.2", "4.2, 5", "4.3", "4.3, 5", "4.4", "4.5", "abstract", "5",
    }  # fmt: skip
    assert all(row.published and row.measured and row.reason and row.cells for row in as_published.values())


@pytest.mark.parametrize(
    ("claim", "ratio", "absolute"),
    [
        ("largest overall", 62 / 34, "62,000 against 34,000 messages/s overall"),
        ("from 10 to 320", 130 * 321 / 60e3, "41,730 against 60,000 messages/s overall"),
        ("two orders", 17000 / 130, "17,000 against 130 messages/s received"),
        ("94 filters", 15 / 0.16, "t_tx 15 us, t_fltr 0.16 us"),
        ("small impact", (49 + 6 * 0.16 + 15) / (49 + 161 * 0.16 + 15), "11,141 against 15,394 messages/s received"),
    ],
)
def test_a_row_shows_ratio_interval_and_absolute_values(as_published, claim, ratio, absolute):
    """What was judged, to three digits, inside its interval, and what it is made of, with units."""
    text = the(claim, as_published).measured

    estimate, low, high = map(float, re.search(r" ([\d.]+) \[([\d.]+), ([\d.]+)\]", text).groups())
    assert estimate == pytest.approx(ratio, rel=0.005)
    assert low <= estimate <= high
    assert absolute in text


def test_the_quick_grids_decide_every_claim_that_needs_no_r_above_10():
    """`--grid quick` over everything leaves only r = 20 and 40 open, and says that they were not measured."""
    rows = judged(a_run(grid="quick"))

    assert len(rows) == len(TABLE)
    undecided = [row for row in rows.values() if row.verdict is NOT_DECIDABLE]
    assert [row.claim for row in undecided] == ["r = 20 and r = 40 lie below the trend of r <= 10"]
    assert "not measured: replication, replication 20" in undecided[0].reason


# --- contradictions ------------------------------------------------------------------------------------------


def changed(experiment, change):
    """The paper's world, but for one experiment: `change` gets the rate and the factors."""
    return WORLD | {experiment: lambda **factors: change(WORLD[experiment](**factors), factors)}


def faster(experiment, number, factor, level):
    """The paper's world, but for one level of one factor."""
    return changed(experiment, lambda rate, factors: rate * (number if factors[factor] == level else 1))


#: Part of a claim -> the experiment that contradicts it.
CONTRADICTIONS = {
    "largest overall": changed("publishers_subscribers", lambda rate, factors: 20e3 / (1 + factors["subscribers"])),
    "number of publishers": faster("publishers_subscribers", 1.5, "publishers", 40),
    "peaks at about 10": faster("publishers_subscribers", 2, "subscribers", 320),
    "from 10 to 320": faster("publishers_subscribers", 0.5, "subscribers", 320),
    "two orders": faster("publishers_subscribers", 10, "subscribers", 320),
    "no filter, correlation id": faster("filter_activation", 1.5, "filter", "none"),
    "slightly faster than on a property": faster("filter_activation", 0.9, "filter", "correlation"),
    "above 300": faster("filter_activation", 0.7, "subscribers", 500),
    "one order of magnitude": faster("or_filters", 20, "kind", "or"),
    "mostly lower": faster("or_filters", 1.6, "kind", "simple"),
    "OR filters: correlation id": faster("or_filters", 0.6, "filter", "correlation"),
    "all AND series": faster("and_filters", 2, "length", 25),
    "(1) > (2) > (3)": faster("and_filters", 0.5, "series", 1),
    "fall slightly with n_fltr": faster("replication", 0.5, "further", 160),
    "with r received falls": changed("replication", lambda rate, factors: 1e4 / (1 + factors["replication"]) ** 1.2),
    "equal and different": faster("different_filters", 0.7, "further", 160),
    "replication: correlation id": faster("correlation_filters", 1.5, "replication", 5),
    "linear up to r = 10": faster("replication", 0.6, "replication", 10),
    "94 filters": changed(
        "replication",
        lambda rate, factors: 1 / (2e-5 + 2e-6 * factors["further"] + 1.2e-5 * factors["replication"]),
    ),
    "below the trend": changed("replication", lambda rate, factors: rate / (0.8 if factors["replication"] > 10 else 1)),
    "small impact": faster("replication", 0.5, "further", 160),
}


@pytest.mark.parametrize(("claim", "world"), CONTRADICTIONS.items(), ids=list(CONTRADICTIONS))
def test_a_contradicted_claim_is_not_reproduced(claim, world):
    """A run whose ratio lies on the other side, with its whole interval."""
    concerned = {name for name in EXPERIMENTS if world[name] is not WORLD[name]} | {"replication"}
    row = the(claim, judged(a_run(*concerned, world=world)))

    assert row.verdict == NOT_REPRODUCED, row


def test_filtering_that_halves_the_throughput_supports_the_abstract():
    """The same figure decides the abstract and section 5, in opposite ways."""
    rows = judged(a_run("replication", world=CONTRADICTIONS["small impact"]))

    assert the("significantly", rows).verdict == REPRODUCED
    assert the("small impact", rows).verdict == NOT_REPRODUCED
    assert the("significantly", rows).measured == the("small impact", rows).measured


def test_one_subscriber_that_loads_the_broker():
    """The claim is about CPU: 0.98 with one subscriber contradicts it, an unknown CPU decides nothing."""
    loaded = the("fully load", judged(a_run("publishers_subscribers", broker_cpu=0.98)))
    unknown = the("fully load", judged(a_run("publishers_subscribers", broker_cpu=None)))

    assert loaded.verdict == NOT_REPRODUCED
    assert unknown.verdict == NOT_DECIDABLE
    assert "CPU is not known" in unknown.reason


def test_copies_that_do_not_come():
    """The claim is about conservation: cells that are unsteady for lack of it count, and contradict it."""
    cells = a_run("publishers_subscribers", conserved=0.9, status=CellStatus.UNSTEADY)

    assert the("r x received", judged(cells)).verdict == NOT_REPRODUCED
    assert the("two orders", judged(cells)).verdict == NOT_DECIDABLE


@pytest.mark.parametrize(
    ("faster", "verdict"),
    [
        ((5, 10, 20, 40), REPRODUCED),
        ((5, 10, 20, 40, 60), NOT_DECIDABLE),
        ((5, 10, 20, 40, 60, 80), NOT_REPRODUCED),
    ],
    ids=len,
)
def test_mostly_means_more_than_half(faster, verdict):
    """Of ten numbers of ids, simple filters may be faster at four; at five nobody can tell."""
    world = WORLD | {"or_filters": lambda kind, ids, **_: 1e4 * (1 if kind == "or" else 1.5 if ids in faster else 0.7)}
    row = the("mostly lower", judged(a_run("or_filters", world=world)))

    assert row.verdict == verdict
    assert f"{2 * len(faster)} not reproduced" in row.reason


# --- what cannot be decided ----------------------------------------------------------------------------------


def test_an_interval_across_the_limit_decides_nothing():
    """Layouts that scatter by 30 %: the same means as before, and no ratio close to its limit can be told."""
    rows = judged(a_run(scatter=0.3))

    for claim in ("number of publishers", "from 10 to 320", "slightly faster", "linear up to r = 10"):
        assert the(claim, rows).verdict == NOT_DECIDABLE
        assert "the interval lies across the limit" in the(claim, rows).reason


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.91, 1.09, REPRODUCED),
        (0.89, 1.05, NOT_DECIDABLE),
        (0.95, 1.11, NOT_DECIDABLE),
        (0.5, 1.5, NOT_DECIDABLE),
        (0.8, 0.9, NOT_REPRODUCED),
        (1.2, 1.3, NOT_REPRODUCED),
    ],
)
def test_the_whole_interval_has_to_lie_on_one_side(low, high, verdict):
    """Alike means between 0.9 and 1.1: inside, outside, or across a limit."""
    assert SAME.verdict(low, high) == verdict


def test_ranges_in_words():
    """A reader sees the limits that were applied."""
    assert [str(one) for one in (SAME, LARGER, published(94))] == [
        "between 0.9 and 1.1",
        "above 1",
        "between 75.2 and 117.5",
    ]


def test_a_missing_cell_is_named():
    """Without 320 subscribers two claims are open; the others of the section are not."""
    rows = judged([cell for cell in a_run("publishers_subscribers") if cell.key.cell != "p20-s320"])

    for claim in ("from 10 to 320", "two orders"):
        assert the(claim, rows).verdict == NOT_DECIDABLE
        assert the(claim, rows).reason == "not measured: publishers_subscribers, publishers 20, subscribers 320"
        assert (the(claim, rows).measured, the(claim, rows).cells) == ("", ())
    assert the("largest overall", rows).verdict == REPRODUCED


def test_every_cell_may_be_the_only_one():
    """A run of one cell compares nothing with nothing: each row says what is missing, or stands on that cell alone."""
    for cell in a_run(grid="quick"):
        for row in claims("run", [cell], ()):
            alone = f"{cell.key.experiment} {cell.key.cell}"
            assert row.cells == (alone,) or (row.verdict is NOT_DECIDABLE and row.reason)


@pytest.mark.parametrize("status", [CellStatus.AUDIT_FAILED, CellStatus.GENERATOR_BOUND, CellStatus.UNSTEADY])
def test_a_doubtful_cell_decides_nothing(status):
    """It is named with its status and reason, whatever its numbers are."""
    cells = [
        replace(cell, status=status, reason="because") if cell.key.cell == "p20-s320" else cell
        for cell in a_run("publishers_subscribers")
    ]
    row = the("two orders", judged(cells))

    assert row.verdict == NOT_DECIDABLE
    assert f"p20-s320 (start 1): {status}, because" in row.reason


def test_cells_that_are_not_saturated_count_only_where_the_claim_is_about_them():
    """Section 4.1 asks which clients load the broker, and r = 20 and 40 may be limited otherwise; elsewhere they are
    in doubt."""
    rows = judged(a_run(broker_cpu=0.6, status=CellStatus.NOT_SATURATED, reason="broker CPU 0.60"))
    decided = {row.section for row in rows.values() if row.verdict is not NOT_DECIDABLE}

    assert decided == {"4.1"}
    one_grade = [
        replace(cell, status=CellStatus.NOT_SATURATED, reason="broker CPU 0.60") if cell.replication > 10 else cell
        for cell in a_run("replication")
    ]
    assert the("below the trend", judged(one_grade)).verdict == REPRODUCED
    over_the_others = the("fall slightly with n_fltr", judged(one_grade))
    assert not any("r020" in cell or "r040" in cell for cell in over_the_others.cells)


def test_what_can_be_compared_without_a_doubtful_cell_is():
    """The cells left out are named beside the verdict; a claim that rests on one of them is not decidable."""
    cells = [
        replace(cell, status=CellStatus.GENERATOR_BOUND, reason="because") if cell.key.cell == "p40-s001" else cell
        for cell in a_run("publishers_subscribers")
    ]
    row = the("dispatched = r x received", judged(cells))

    assert row.verdict == REPRODUCED
    assert row.reason.endswith("without p40-s001, which are in doubt")
    assert "publishers_subscribers p40-s001" not in row.cells


@pytest.mark.parametrize("claim", ["two orders", "r x received", "fully load"])
def test_three_layouts_give_no_interval(claim):
    """Nothing is judged without one, also not in three starts of three layouts; the reason says what to do."""
    for starts in (1, 3):
        row = the(claim, judged(a_run("publishers_subscribers", layouts=3, starts=starts)))

        assert row.verdict == NOT_DECIDABLE
        assert "fewer than 4 layouts give no interval; more --layouts" in row.reason


def test_filters_too_cheap_to_be_seen():
    """Where t_fltr does not differ significantly from 0, nothing is said in units of it."""
    world = WORLD | {"replication": lambda further, replication: 1 / (2e-5 + 1e-5 * replication)}
    row = the("94 filters", judged(a_run("replication", world=world, scatter=0.04)))

    assert row.verdict == NOT_DECIDABLE
    assert "t_fltr does not differ significantly from 0" in row.reason


def test_without_a_model_the_trend_is_open():
    """Two cells make no plane: the claims that need one say so, and the others stand."""
    cells = [cell for cell in a_run("replication") if cell.factors["further"] in {5, 160} and cell.replication == 1]
    rows = judged(cells)

    assert "no model was fitted to replication" in the("linear up to", rows).reason
    assert the("94 filters", rows).verdict == NOT_DECIDABLE
    assert the("with r received", rows).verdict == NOT_DECIDABLE


# --- starts, brokers, profiles, runs -------------------------------------------------------------------------


def limits(row):
    """Of the interval that a row shows."""
    return tuple(map(float, re.search(r"\[([\d.]+), ([\d.]+)\]", row.measured).groups()))


@pytest.mark.parametrize(("starts", "over"), [(3, "over the layouts of 3 starts"), (5, "t intervals over 5 starts")])
def test_what_a_start_does_to_all_cells_cancels(starts, over):
    """Starts that differ by a factor and agree in every ratio: narrow intervals."""
    rows = judged(a_run("publishers_subscribers", starts=starts, scatter=0, factor=lambda start, cell: start))

    row = the("two orders", rows)
    assert row.verdict == REPRODUCED
    assert over in row.reason
    assert "131 [131, 131]" in row.measured


@pytest.mark.parametrize("claim", ["two orders", "from 10 to 320", "linear up to r", "below the trend", "small impact"])
def test_what_a_layout_does_to_all_cells_cancels(claim):
    """Layouts that differ by 30 % and agree in every ratio change nothing, also not beside the plane."""
    levels = np.exp(0.3 * scipy.stats.zscore(np.arange(LAYOUTS) ** 2, ddof=1))
    names = ("publishers_subscribers", "replication")
    steady, restless = (the(claim, judged(a_run(*names, levels=of_layouts))) for of_layouts in (None, levels))

    assert steady.verdict == restless.verdict == REPRODUCED
    assert limits(steady) == pytest.approx(limits(restless), rel=0.003)


def unlike(start, cell):
    """Starts that agree in everything but one cell."""
    return {1: 1.0, 2: 1.3, 3: 0.75, 4: 1.0, 5: 1.1}[start] if cell.id == "p20-s320" else 1.0


def test_starts_that_disagree_widen_the_interval_once_it_is_over_them():
    """The layouts of each start agree within 1 %, the starts do not: fewer than five speak for themselves only."""
    one, three, five = (
        the("from 10 to 320", judged(a_run("publishers_subscribers", starts=starts, factor=unlike)))
        for starts in (1, 3, 5)
    )

    assert [row.verdict for row in (one, three, five)] == [REPRODUCED, REPRODUCED, NOT_DECIDABLE]
    assert "95 % intervals over the layouts of one start" in one.reason
    assert "95 % intervals over the layouts of 3 starts" in three.reason
    assert "95 % t intervals over 5 starts" in five.reason


def test_the_interval_over_starts_is_student_s_t():
    """exp(mean +- t s / sqrt(n)) of the log ratios 0, 0.1, 0.2, 0.3 and 0.4: t(4) = 2.7764, s^2 = 0.025."""

    def shifted(start, cell):
        return np.exp(0.1 * (start - 1)) if cell.id == "p20-s001" else 1.0

    row = the("two orders", judged(a_run("publishers_subscribers", starts=5, factor=shifted)))

    ratio, half = 17000 / 130 * np.exp(0.2), 2.7764 * np.sqrt(0.025 / 5)
    assert limits(row) == pytest.approx((ratio * np.exp(-half), ratio * np.exp(half)), rel=0.005)


def test_the_interval_within_a_start_is_that_of_paired_layouts():
    """Two cells in the same layouts: scipy's paired t test of the layouts' logarithms."""
    row = the("two orders", judged(a_run("publishers_subscribers", scatter=0.05)))

    one, many = (
        np.log(layout_factors("publishers_subscribers", cell, 1, 0.05, LAYOUTS)) for cell in ("p20-s001", "p20-s320")
    )
    expected = scipy.stats.ttest_rel(one + np.log(17000 / 130), many).confidence_interval()
    assert limits(row) == pytest.approx((np.exp(expected.low), np.exp(expected.high)), rel=0.005)


def test_a_cell_in_doubt_in_one_start_is_compared_over_the_others():
    """Five starts of six are left for the claims that need it, all six for the others; four are no longer enough."""
    whole = a_run("publishers_subscribers", starts=6, factor=lambda start, cell: 1 + start / 1000)

    def without(*starts):
        return judged(
            [
                replace(cell, status=CellStatus.UNSTEADY)
                if cell.key.start in starts and cell.key.cell == "p20-s320"
                else cell
                for cell in whole
            ]
        )

    assert "over 5 starts" in the("two orders", without(2)).reason
    assert "over 6 starts" in the("largest overall", without(2)).reason
    assert "95 % intervals over the layouts of 4 starts" in the("two orders", without(2, 3)).reason


def test_comparisons_of_few_and_of_many_starts_stand_side_by_side():
    """A claim some of whose comparisons are over their starts, and others over the layouts of too few, says so."""
    cells = [
        replace(cell, status=CellStatus.UNSTEADY) if cell.key.start > 2 and cell.key.cell == "p20-s320" else cell
        for cell in a_run("publishers_subscribers", starts=5)
    ]

    reason = the("peaks at about 10", judged(cells)).reason
    assert "95 % intervals over the layouts of 2 starts and t intervals over 5 starts" in reason


def test_brokers_and_profiles_have_rows_of_their_own():
    """The same cells on two brokers under two profiles: four sets of rows, each from its own cells alone."""
    fast = a_run("publishers_subscribers")
    slow = a_run("publishers_subscribers", world=CONTRADICTIONS["two orders"])
    cells = [
        replace(cell, key=replace(cell.key, broker=broker), profile=profile)
        for broker, profile, own in (
            ("activemq", "today", fast),
            ("activemq", "paper", slow),
            ("artemis", "today", slow),
            ("artemis", "paper", fast),
        )
        for cell in own
    ]
    rows = {(row.broker, row.profile): row for row in claims("run", cells, ()) if "two orders" in row.claim}

    assert {key: row.verdict for key, row in rows.items()} == {
        ("activemq", "today"): REPRODUCED,
        ("activemq", "paper"): NOT_REPRODUCED,
        ("artemis", "today"): NOT_REPRODUCED,
        ("artemis", "paper"): REPRODUCED,
    }


def test_half_of_a_comparison_on_another_broker_does_not_count():
    """One subscriber on one broker and 320 on another are no comparison."""
    cells = [
        replace(cell, key=replace(cell.key, broker="artemis")) if cell.key.cell == "p20-s320" else cell
        for cell in a_run("publishers_subscribers")
    ]
    rows = [row for row in claims("run", cells, ()) if "two orders" in row.claim]

    assert {row.verdict for row in rows} == {NOT_DECIDABLE}
    assert len(rows) == 2


def test_models_and_cells_of_other_runs_are_passed_over():
    """The rows of a run are the same, whatever else was read beside it."""
    mine = a_run("replication")
    other = [
        replace(cell, key=replace(cell.key, run="other"))
        for cell in a_run("replication", world=CONTRADICTIONS["linear up to r = 10"])
    ]
    both = [*mine, *other]

    assert claims("run", both, fits(both)[0]) == claims("run", mine, fits(mine)[0])
    assert the("linear", judged(both, run="other")).verdict == NOT_REPRODUCED
    assert claims("neither", both, fits(both)[0]) == ()


def test_an_experiment_that_was_not_run_has_no_rows():
    """A run of the AND filters alone says two things, and nothing about the rest."""
    assert {row.section for row in claims("run", a_run("and_filters"), ())} == {"4.4"}
    assert claims("run", [], ()) == ()


def test_a_variant_without_its_counterpart():
    """Different filters alone cannot be compared with equal ones: the row says what is missing."""
    (row,) = claims("run", a_run("different_filters"), ())

    assert row.verdict == NOT_DECIDABLE
    assert row.reason == "not measured: replication, further 5, replication 1"

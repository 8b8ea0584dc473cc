"""The claims of Henjes et al. 2006 compared with the measurements of a run: a table of claims.

The rule is that of `analysis.claims`; the limits are in `workloads.limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, inf, log

import numpy as np

from analysis.claims import ClaimComparison, Comparisons, Estimate, decide
from analysis.errors import DataError
from analysis.formats import span
from analysis.intervals import Vector, around, mapped, mean_interval
from analysis.results import Claim, Interval, NotApplicable, reasons
from analysis.table import grouped
from analysis.throughput.cell_ratios import (
    CellSet,
    GridPoint,
    OfStart,
    broker_cpu,
    dispatched_share,
    estimated,
    processing,
    settings,
)
from analysis.throughput.cost_model import regressors
from analysis.throughput.fit import PAPER_REPLICATION, STARTS_AS_UNIT, fewest_cells, fit
from analysis.throughput.linear_model import identifiable
from analysis.throughput.results import CellSummary, FitResult
from workloads.limits import ALIKE, BELOW_TREND, BROKER_CPU, CONSERVATION, ORDER, SLIGHT_FALL
from workloads.ranges import LARGER, SMALLER, Range, published
from workloads.status import CellStatus, ClaimVerdict, VerdictKind

PUBLISHERS_SUBSCRIBERS = "publishers_subscribers"
FILTER_ACTIVATION = "filter_activation"
OR_FILTERS = "or_filters"
AND_FILTERS = "and_filters"
REPLICATION = "replication"
DIFFERENT_FILTERS = "different_filters"
CORRELATION_FILTERS = "correlation_filters"

#: Largest number of further filters in the paper's section 4.5; its claims about filters hold up to this number.
PAPER_FURTHER = 160

#: The publishers of the paper's experiments, and the subscribers at which its overall throughput peaks.
PAPER_PUBLISHERS, PAPER_PEAK = 20, 10


SAME = Range(1 - ALIKE.limit, 1 + ALIKE.limit)
SLIGHTLY_LARGER = Range(1, 1 + ALIKE.limit)
SLIGHTLY_SMALLER = Range(1 - SLIGHT_FALL.limit, 1)
MUCH_SMALLER = Range(0, 1 - SLIGHT_FALL.limit)
NOT_MUCH_SMALLER = Range(1 - SLIGHT_FALL.limit, inf)
CONSERVED = Range(1 - CONSERVATION.limit, 1 + CONSERVATION.limit)
NOT_LOADED = Range(0, BROKER_CPU.limit)
ONE_ORDER = Range(1 / ORDER.limit, ORDER.limit)
TWO_ORDERS = Range(ORDER.limit**1.5, ORDER.limit**2.5)
BELOW = Range(0, 1 - BELOW_TREND.limit)


# --- 4.1: publishers and subscribers -------------------------------------------------------------------------


def _conserved(evidence: CellSet) -> Comparisons:
    for setting in evidence.of(PUBLISHERS_SUBSCRIBERS):
        absolute = f"r = {setting.replication:g}"
        estimate = evidence.of_setting(setting, dispatched_share, absolute)
        yield ClaimComparison(f"dispatched / (r x received) at {setting.cell}", estimate, CONSERVED)


def _peak(evidence: CellSet, subscribers: int) -> GridPoint:
    """The setting with the largest overall throughput, as the mean over the starts."""
    series = evidence.of(PUBLISHERS_SUBSCRIBERS, subscribers=subscribers)
    return max(series, key=lambda setting: evidence.ratio("overall_per_s", [setting]).interval.estimate)


def _largest_overall(evidence: CellSet) -> Comparisons:
    ten, single = _peak(evidence, PAPER_PEAK), _peak(evidence, 1)
    publishers = ten.number("publishers"), single.number("publishers")
    label = f"largest overall, 10 subscribers ({publishers[0]} publishers) / 1 ({publishers[1]})"
    yield ClaimComparison(label, evidence.ratio("overall_per_s", [ten], [single]), published(62 / 34))


def _plateau(evidence: CellSet) -> Comparisons:
    for subscribers in (1, PAPER_PEAK):
        series = evidence.of(PUBLISHERS_SUBSCRIBERS, subscribers=subscribers)
        plateau = [setting for setting in series if setting.number("publishers") >= 10]
        if len(plateau) < 2:
            raise DataError(f"not measured: two numbers of publishers from 10 on with {subscribers} subscribers")
        for setting in plateau:
            label = f"overall, {setting.number('publishers')} publishers / mean from 10 on, {subscribers} subscribers"
            yield ClaimComparison(label, evidence.ratio("overall_per_s", [setting], plateau), SAME)


def _not_loaded(evidence: CellSet) -> Comparisons:
    for setting in evidence.of(PUBLISHERS_SUBSCRIBERS, subscribers=1):
        estimate = evidence.of_setting(setting, broker_cpu, "of its CPU set")
        yield ClaimComparison(
            f"broker CPU, subscribers 1, publishers {setting.number('publishers')}", estimate, NOT_LOADED
        )


def _subscribers(evidence: CellSet, subscribers: int) -> GridPoint:
    return evidence.one(PUBLISHERS_SUBSCRIBERS, publishers=PAPER_PUBLISHERS, subscribers=subscribers)


def _peak_at_ten(evidence: CellSet) -> Comparisons:
    """`About` ten: no other number of subscribers exceeds it by more than the limit ALIKE."""
    ten = _subscribers(evidence, PAPER_PEAK)
    others = [s for s in evidence.of(PUBLISHERS_SUBSCRIBERS, publishers=PAPER_PUBLISHERS) if s is not ten]
    for setting in others:
        number = setting.number("subscribers")
        expected = LARGER if number == 1 else Range(1 - ALIKE.limit, inf)
        yield ClaimComparison(
            f"overall, 10 subscribers / {number}", evidence.ratio("overall_per_s", [ten], [setting]), expected
        )


def _of_subscribers(rate: str, above: int, below: int, expected: Range, evidence: CellSet) -> Comparisons:
    """A rate with one number of subscribers divided by that with another."""
    over, under = _subscribers(evidence, above), _subscribers(evidence, below)
    label = f"{rate}, {above} subscriber{'s' * (above > 1)} / {below}"
    yield ClaimComparison(label, evidence.ratio(f"{rate}_per_s", [over], [under]), expected)


# --- 4.2: filter activation ----------------------------------------------------------------------------------


def _pairs(
    evidence: CellSet, experiment: str, factor: str, first: str, second: str
) -> list[tuple[GridPoint, GridPoint]]:
    """Pairs of usable settings that differ only in this factor.

    Raises DataError for a setting whose counterpart was not measured.
    """
    pairs = []
    for setting in evidence.of(experiment, **{factor: first}):
        factors = {**setting.factors, factor: second}
        if not evidence.in_doubt(experiment, **factors):
            pairs.append((setting, evidence.one(experiment, **factors)))
    return pairs


def _paired(
    experiment: str, factor: str, levels: Sequence[tuple[str, str]], label: str, expected: Range, evidence: CellSet
) -> Comparisons:
    """Settings that differ only in this factor; the label may name its levels and the factors of the first setting."""
    for first, second in levels:
        for setting, other in _pairs(evidence, experiment, factor, first, second):
            estimate = evidence.ratio("overall_per_s", [setting], [other])
            yield ClaimComparison(label.format(first=first, second=second, **setting.factors), estimate, expected)


def _correlation_faster(evidence: CellSet) -> Comparisons:
    pairs = _pairs(evidence, FILTER_ACTIVATION, "filter", "correlation", "property")
    if not pairs:
        return
    estimate = evidence.ratio("overall_per_s", [first for first, _ in pairs], [second for _, second in pairs])
    yield ClaimComparison("overall, correlation id / property, mean over m", estimate, SLIGHTLY_LARGER)


def _constant_above_300(evidence: CellSet) -> Comparisons:
    for kind in ("correlation", "property"):
        series = evidence.of(FILTER_ACTIVATION, filter=kind)
        many = [setting for setting in series if setting.number("subscribers") > 300]
        if len(many) < 2:
            unusable = evidence.in_doubt(FILTER_ACTIVATION, filter=kind)
            doubtful = [str(setting) for setting in unusable if setting.number("subscribers") > 300]
            raise DataError(
                f"two numbers of equal filters above 300 are needed ({kind}); usable: {len(many)}"
                + (f", in doubt: {', '.join(doubtful)}" if doubtful else "")
            )
        for setting in many:
            label = f"overall, m = {setting.number('subscribers')} / mean above 300, {kind}"
            yield ClaimComparison(label, evidence.ratio("overall_per_s", [setting], many), SAME)


# --- 4.4: AND filters ----------------------------------------------------------------------------------------


def _falls_with_length(evidence: CellSet) -> Comparisons:
    for series in (1, 2, 3):
        shortest, *_, longest = _two_levels(evidence, AND_FILTERS, "length", series=series)
        long, short = (evidence.one(AND_FILTERS, series=series, length=length) for length in (longest, shortest))
        label = f"overall, series {series}, n = {longest} / {shortest}"
        yield ClaimComparison(label, evidence.ratio("overall_per_s", [long], [short]), SMALLER)


def _order_of_series(evidence: CellSet) -> Comparisons:
    """With one component the three series are the same; the mean is over the longer ones that all series have."""
    lengths = [
        n
        for n in _two_levels(evidence, AND_FILTERS, "length")
        if n > 1 and not evidence.in_doubt(AND_FILTERS, length=n)
    ]
    if not lengths:
        raise DataError(f"no length of {AND_FILTERS} has usable cells in all three series")
    by_series = {
        series: [evidence.one(AND_FILTERS, series=series, length=length) for length in lengths] for series in (1, 2, 3)
    }
    for earlier, later in ((1, 2), (2, 3)):
        estimate = evidence.ratio("overall_per_s", by_series[earlier], by_series[later])
        yield ClaimComparison(f"overall, series {earlier} / {later}, mean over n > 1", estimate, LARGER)


def _two_levels(evidence: CellSet, experiment: str, factor: str, **factors: int) -> list[int]:
    levels = evidence.levels(experiment, factor, **factors)
    if len(levels) < 2:
        raise DataError(f"not measured: a second level of {factor} in {experiment}")
    return levels


# --- 4.5: replication and number of filters ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Corners:
    """The settings with the fewest filters and with the paper's largest number, over all replication grades from 1."""

    few: list[GridPoint]
    many: list[GridPoint]
    #: name of the ratio of the two
    label: str


def _corners(evidence: CellSet) -> _Corners:
    """Raises DataError unless 160 further filters and fewer were measured, over the same replication grades from 1."""
    fewest = evidence.levels(REPLICATION, "further")[0]
    unusable = evidence.in_doubt(REPLICATION, further=PAPER_FURTHER)
    doubtful = {setting.number("replication") for setting in unusable}
    grades = [r for r in _two_levels(evidence, REPLICATION, "replication", further=fewest) if r not in doubtful]
    if len(grades) < 2:
        raise DataError(f"no usable cells: two replication grades with {PAPER_FURTHER} further filters")
    if fewest >= PAPER_FURTHER or grades[0] != 1:
        raise DataError(f"not measured: {REPLICATION} with r = 1 and fewer than {PAPER_FURTHER} further filters")
    few, many = (
        [evidence.one(REPLICATION, further=further, replication=grade) for grade in grades]
        for further in (fewest, PAPER_FURTHER)
    )
    return _Corners(few, many, f"{PAPER_FURTHER} further filters / {fewest}")


def _falls_with_filters(evidence: CellSet) -> Comparisons:
    corners = _corners(evidence)
    for rate in ("received", "overall"):
        estimate = evidence.ratio(f"{rate}_per_s", corners.many, corners.few)
        yield ClaimComparison(f"{rate}, {corners.label}, mean over r", estimate, SLIGHTLY_SMALLER)


def _moves_with_replication(evidence: CellSet) -> Comparisons:
    """For the four corners: the effect of r (averaged over filters) and the effect of filters (averaged over r).

    Received: log(few,1)(many,1)/(few,r)(many,r) less log(few,1)(few,r)/(many,1)(many,r), each halved, is
    log (many,1)/(few,r); overall likewise, where the effect of r is an increase, log (many,r)/(few,1).
    """
    corners = _corners(evidence)
    (few_1, *_, few_r), (many_1, *_, many_r) = corners.few, corners.many
    grade = f"r = {few_r.number('replication')} / 1"
    for rate, expected in (("received", SMALLER), ("overall", LARGER)):
        estimate = evidence.ratio(f"{rate}_per_s", [few_r, many_r], [few_1, many_1])
        yield ClaimComparison(f"{rate}, {grade}", estimate, expected)
    for rate, above, below in (("received", many_1, few_r), ("overall", many_r, few_1)):
        estimate = evidence.ratio(f"{rate}_per_s", [above], [below])
        yield ClaimComparison(f"{rate}, effect of {grade} over that of {corners.label}", estimate, LARGER)


def _like_replication(variant: str, label: str, evidence: CellSet) -> Comparisons:
    for setting in evidence.of(variant):
        if evidence.in_doubt(REPLICATION, **setting.factors):
            continue
        twin = evidence.one(REPLICATION, **setting.factors)
        estimate = evidence.ratio("received_per_s", [setting], [twin])
        yield ClaimComparison(f"received, {label}, {setting.cell}", estimate, SAME)


@dataclass(frozen=True, slots=True)
class _Trend:
    """The least-squares plane through r in {1, 2, 5, 10}, as in the paper."""

    #: its parameters
    names: tuple[str, ...]
    #: by start: the estimates, then those of each replicate of the start
    starts: Mapping[int, tuple[Vector, ...]]

    def per_s(self, chosen: Sequence[GridPoint]) -> dict[int, OfStart]:
        """The received throughput at these settings, geometric mean, by start."""
        rows = np.array([regressors(self.names, setting.n_fltr, setting.replication) for setting in chosen])
        rates = {}
        for start, planes in self.starts.items():
            times = np.array([rows @ plane for plane in planes])
            if times.min() <= 0:
                raise DataError("the plane through r in {1, 2, 5, 10} has a processing time below 0 there")
            estimate, *replicates = np.exp(-np.log(times).mean(axis=1)).tolist()
            rates[start] = OfStart(estimate, tuple(replicates))
        return rates


def _trend(evidence: CellSet) -> _Trend:
    model = evidence.fit(REPLICATION)
    names = tuple(model.parameters)
    chosen = [
        setting
        for setting in evidence.settings
        if setting.experiment == REPLICATION and setting.replication in PAPER_REPLICATION
    ]
    starts = {}
    for start in sorted({start for setting in chosen for start in setting.starts}):
        known = [s for s in chosen if start in s.starts and s.starts[start].status == CellStatus.OK]
        times = [processing(setting.starts[start]) for setting in known]
        x = np.array([regressors(names, setting.n_fltr, setting.replication) for setting in known])
        if len(known) < fewest_cells(names) or not identifiable(x):
            continue
        together = len({len(time.replicates) for time in times}) == 1
        b = np.array([(time.estimate, *(time.replicates if together else ())) for time in times])
        starts[start] = tuple(np.linalg.lstsq(x, b, rcond=None)[0].T)
    if not starts:
        raise DataError("no least squares on r in {1, 2, 5, 10}: its cells are missing or in doubt")
    return _Trend(names, starts)


def _against_trend(evidence: CellSet, chosen: Sequence[GridPoint], trend: _Trend) -> Estimate:
    """Received throughput divided by that of the plane through r in {1, 2, 5, 10}, including the plane's error."""
    return evidence.ratio("received_per_s", chosen, reference=trend.per_s(chosen))


def _linear(evidence: CellSet) -> Comparisons:
    trend = _trend(evidence)
    for setting in evidence.of(REPLICATION):
        if setting.replication in PAPER_REPLICATION:
            estimate = _against_trend(evidence, [setting], trend)
            yield ClaimComparison(f"received, measured / plane at {setting.cell}", estimate, SAME)


def _below_trend(evidence: CellSet) -> Comparisons:
    trend = _trend(evidence)
    for grade in (20, 40):
        chosen = [s for s in evidence.of(REPLICATION, replication=grade) if s.number("further") <= PAPER_FURTHER]
        if not chosen:
            raise DataError(f"not measured: r = {grade} with up to {PAPER_FURTHER} further filters")
        estimate = _against_trend(evidence, chosen, trend)
        yield ClaimComparison(f"received, measured / plane through r <= 10, at r = {grade}", estimate, BELOW)


def _ratio_of_costs(evidence: CellSet) -> Comparisons:
    """From the model fitted to r in {1, 2, 5, 10} only, as in the paper; the deviation beyond is a separate claim."""
    used = [setting for setting in evidence.of(REPLICATION) if setting.replication in PAPER_REPLICATION]
    model = fit([cell for setting in used for cell in setting.starts.values()])
    if model.verdict == VerdictKind.INVALID:
        raise DataError(f"the model is invalid: {model.findings[0].what}, {model.findings[0].measured}")
    t_fltr, t_tx = model.parameters["t_fltr"], model.parameters["t_tx"]
    estimates = list(model.per_start.values())
    if (
        estimated(t_fltr, "", (), model.starts).ends("t_fltr")[0] <= 0
        or min(min(fltr, tx) for _, fltr, tx in estimates) <= 0
    ):
        raise DataError("t_fltr does not differ significantly from 0, so that its ratio to t_tx is undefined")
    if len(estimates) >= STARTS_AS_UNIT:
        interval = mean_interval([log(tx / fltr) for _, fltr, tx in estimates])
    else:
        interval = _log_ratio(model)
    absolute = f"t_tx {t_tx.estimate * 1e6:.3g} us, t_fltr {t_fltr.estimate * 1e6:.3g} us"
    fitted = tuple(setting for setting in used if setting.cell in model.cells_used)
    yield ClaimComparison(
        "t_tx / t_fltr", estimated(mapped(interval, exp), absolute, fitted, len(estimates)), published(94)
    )


def _log_ratio(model: FitResult) -> Interval:
    """log(t_tx / t_fltr) over the layouts, by the delta method."""
    fltr, tx = (model.parameters[name].estimate for name in ("t_fltr", "t_tx"))
    gradient = np.array([0.0, -1 / fltr, 1 / tx])
    error = np.sqrt(gradient @ np.array(model.covariance) @ gradient)
    return around(log(tx / fltr), float(error), model.degrees)


# --- abstract and 5: filtering -------------------------------------------------------------------------------


def _filtering(expected: Range, evidence: CellSet) -> Comparisons:
    """At r = 1, where the effect of filters is largest."""
    corners = _corners(evidence)
    estimate = evidence.ratio("received_per_s", corners.many[:1], corners.few[:1])
    yield ClaimComparison(f"received, {corners.label}, r = 1", estimate, expected)


# --- the table -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A claim of the paper, and the comparisons that decide it."""

    #: of the paper
    section: str
    claim: str
    #: the published value, as text
    published: str
    #: the claim is omitted for a run without this experiment
    experiment: str
    compare: Callable[[CellSet], Comparisons]
    #: more than half of the comparisons decide; otherwise all must agree
    mostly: bool = False
    #: the statuses of cells that are usable for this claim
    counts: frozenset[CellStatus] = frozenset({CellStatus.OK})


#: Section 4.1 asks which clients can load the broker, and 4.5 explains r = 20 and 40 by a limit other than the CPU.
UNSATURATED = frozenset({CellStatus.OK, CellStatus.NOT_SATURATED})

_SIMPLE_AGAINST_OR = partial(
    _paired, OR_FILTERS, "kind", [("simple", "or")], "overall, simple / OR, {filter}, n = {ids}"
)

# fmt: off
TABLE: Sequence[ClaimRow] = (
    ClaimRow(
        "4.1", "dispatched = r x received", "equal with 1 subscriber, 10 times with 10", PUBLISHERS_SUBSCRIBERS,
        _conserved, counts=UNSATURATED | {CellStatus.UNSTEADY},  # the claim is about what makes a cell unsteady
    ),
    ClaimRow(
        "4.1", "largest overall throughput with 10 subscribers and with 1", "62,000 and 34,000 messages/s, ratio 1.82",
        PUBLISHERS_SUBSCRIBERS, _largest_overall, counts=UNSATURATED,
    ),
    ClaimRow(
        "4.1", "almost independent of the number of publishers from about 10 on", "almost constant from 10 to 40",
        PUBLISHERS_SUBSCRIBERS, _plateau, counts=UNSATURATED,
    ),
    ClaimRow(
        "4.1", "one subscriber cannot fully load the server", "CPU below 95 %", PUBLISHERS_SUBSCRIBERS, _not_loaded,
        counts=UNSATURATED,
    ),
    ClaimRow(
        "4.1", "overall throughput peaks at about 10 subscribers", "about 60,000 messages/s", PUBLISHERS_SUBSCRIBERS,
        _peak_at_ten, counts=UNSATURATED,
    ),
    ClaimRow(
        "4.1", "overall throughput falls only slightly from 10 to 320 subscribers",
        "slightly; by its own figures 60,000 to 41,730 messages/s, -30 %", PUBLISHERS_SUBSCRIBERS,
        partial(_of_subscribers, "overall", 320, PAPER_PEAK, SLIGHTLY_SMALLER), counts=UNSATURATED,
    ),
    ClaimRow(
        "4.1", "received throughput falls by two orders from 1 to 320 subscribers",
        "16,000 to 130 messages/s, ratio 123", PUBLISHERS_SUBSCRIBERS,
        partial(_of_subscribers, "received", 1, 320, TWO_ORDERS), counts=UNSATURATED,
    ),
    ClaimRow(
        "4.2", "no filter, correlation id and property differ only slightly", "slightly", FILTER_ACTIVATION,
        partial(
            _paired, FILTER_ACTIVATION, "filter",
            [("correlation", "none"), ("property", "none"), ("correlation", "property")],
            "overall, {first} / {second}, m = {subscribers}", SAME,
        ),
    ),
    ClaimRow(
        "4.2, 5", "filters on the correlation id are slightly faster than on a property", "slightly larger throughput",
        FILTER_ACTIVATION, _correlation_faster,
    ),
    ClaimRow(
        "4.2", "constant above 300 equal filters", "50,000 messages/s overall", FILTER_ACTIVATION, _constant_above_300,
    ),
    ClaimRow(
        "4.3", "simple and OR filters within one order of magnitude", "the same order", OR_FILTERS,
        partial(_SIMPLE_AGAINST_OR, ONE_ORDER),
    ),
    ClaimRow(
        "4.3, 5", "simple filters mostly lower than OR filters", "mostly", OR_FILTERS,
        partial(_SIMPLE_AGAINST_OR, SMALLER), mostly=True,
    ),
    ClaimRow(
        "4.3", "OR filters: correlation id and property alike", "differ only slightly", OR_FILTERS,
        partial(
            _paired, OR_FILTERS, "filter", [("correlation", "property")],
            "overall, correlation id / property, {kind}, n = {ids}", SAME,
        ),
    ),
    ClaimRow("4.4", "throughput falls with the length in all AND series", "falls", AND_FILTERS, _falls_with_length),
    ClaimRow("4.4", "AND series (1) > (2) > (3)", "in this order", AND_FILTERS, _order_of_series),
    ClaimRow(
        "4.5", "received and overall throughput fall slightly with n_fltr",
        "slightly; by its own model -28 % at r = 1 and -4 % at r = 40", REPLICATION, _falls_with_filters,
    ),
    ClaimRow(
        "4.5", "with r received falls and overall rises, by more than n_fltr moves them", "clearly", REPLICATION,
        _moves_with_replication,
    ),
    ClaimRow(
        "4.5", "equal and different non-matching filters alike", "the same", DIFFERENT_FILTERS,
        partial(_like_replication, DIFFERENT_FILTERS, "different / equal filters"),
    ),
    ClaimRow(
        "4.5", "replication: correlation id and property alike", "very similar results", CORRELATION_FILTERS,
        partial(_like_replication, CORRELATION_FILTERS, "correlation id / property"),
    ),
    ClaimRow("4.5", "B is linear up to r = 10", "in good accordance", REPLICATION, _linear),
    ClaimRow(
        "4.5", "one copy costs as much as 94 filters", "t_tx / t_fltr = 15 us / 0.16 us = 94", REPLICATION,
        _ratio_of_costs,
    ),
    ClaimRow(
        "4.5", "r = 20 and r = 40 lie below the trend of r <= 10", "lower than expected", REPLICATION, _below_trend,
        counts=UNSATURATED,
    ),
    ClaimRow(
        "abstract", "filtering reduces the performance significantly", "significantly; section 5 says the opposite",
        REPLICATION, partial(_filtering, MUCH_SMALLER),
    ),
    ClaimRow(
        "5", "filters have only a small impact on the capacity", "small; the abstract says the opposite", REPLICATION,
        partial(_filtering, NOT_MUCH_SMALLER),
    ),
)
# fmt: on


def claims(
    run: str, cells: Sequence[CellSummary], fits: Sequence[FitResult], not_applicable: Sequence[NotApplicable] = ()
) -> tuple[Claim, ...]:
    """A row per claim of the paper, broker and profile of one run; none for a claim whose experiment was not run.

    Claims of an experiment that is not applicable to a broker are reported as not decidable. Cells and models of other
    runs are ignored. Nothing is compared across brokers or profiles.
    """
    mine = [cell for cell in cells if cell.key.run == run]
    units = sorted(
        {(cell.key.broker, cell.profile) for cell in mine} | {(entry.broker, entry.profile) for entry in not_applicable}
    )
    found = []
    for broker, profile in units:
        unit = settings(cell for cell in mine if (cell.key.broker, cell.profile) == (broker, profile))
        models = {fit.experiment: fit for fit in fits if (fit.run, fit.broker, fit.profile) == (run, broker, profile)}
        beyond = (entry for entry in not_applicable if (entry.broker, entry.profile) == (broker, profile))
        words = {name: reasons(group) for name, group in grouped(beyond, lambda entry: entry.experiment).items()}
        asked = {setting.experiment for setting in unit} | set(words)
        for row in TABLE:
            if row.experiment in asked:
                judged = _judged(row, CellSet(unit, models, row.counts, words))
                found.append(Claim(run, broker, profile, row.section, row.claim, row.published, *judged))
    return tuple(found)


def _judged(row: ClaimRow, evidence: CellSet) -> tuple[str, ClaimVerdict, str, tuple[str, ...]]:
    """measured, verdict, reason, cells."""
    try:
        decision = decide(row.compare(evidence), mostly=row.mostly)
        if decision is None:
            raise DataError(f"not measured: a second cell of {row.experiment} to compare with")  # noqa: TRY301
    except DataError as error:
        reason, beyond = str(error), evidence.beyond(row.experiment)
        return "", ClaimVerdict.NOT_DECIDABLE, reason if beyond in reason else reason + beyond, ()
    without = evidence.in_doubt(row.experiment)
    left_out = f"; without {', '.join(setting.cell for setting in without)}, which are in doubt" if without else ""
    reason = f"{decision.criterion}; {_scope(decision.compared)}{left_out}"
    return decision.measured, decision.verdict, reason, decision.cells


def _scope(compared: Sequence[ClaimComparison]) -> str:
    """The unit of the intervals, with the smallest and the largest number of starts."""
    starts = [comparison.estimate.starts for comparison in compared]
    over = [number for number in starts if number >= STARTS_AS_UNIT]
    words = [f"t intervals over {span(over)} starts"] if over else []
    if within := [number for number in starts if number < STARTS_AS_UNIT]:
        number = span(within)
        words.insert(0, f"intervals over the layouts of {'one start' if number == '1' else f'{number} starts'}")
    return f"95 % {' and '.join(words)}"

"""Whether a candidate is slower than its baseline: families of metrics judged over pairs of lives.

The unit is the pair of lives, one start of each broker: slices of one pair do not show what differs between two starts
of the same broker. After planned numbers of pairs (looks) every undecided family is judged once, at an equal share of
the error (Bonferroni over looks, Holm over families):

1. `pass`: the upper end of the interval is below the margin.
2. A change: the interval does not cover 0 and the estimate exceeds the margin. It is called `regressed` or `faster`
   only if fresh pairs, judged alone, show the same.
3. Else the next look; after the last one `inconclusive`.

Nothing here knows a broker, a file or a unit: a family is a name and one logarithm of a ratio per pair of lives, so
that both kinds of runs are judged by the same rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from analysis.intervals import mapped, mean_interval, p_value, quantile
from analysis.results import Interval
from workloads.exit_codes import ExitCode
from workloads.gate import LOOKS, GateRules, deciding

#: Probability of a false change, over all looks and families.
ALPHA = 0.05

#: Probability with which the smallest detectable change is detected.
POWER = 0.80


class GateVerdict(StrEnum):
    """What a gate says of a family, and of the candidate."""

    #: The candidate is not slower by the margin or more.
    PASS = "pass"  # noqa: S105 - a verdict
    #: It is faster by more than the margin.
    FASTER = "faster"
    #: It is slower by more than the margin.
    REGRESSED = "regressed"
    #: The pairs of lives differ too much to say.
    INCONCLUSIVE = "inconclusive"
    #: The conditions under which the statistics hold were not met.
    CONTAMINATED = "contaminated"
    #: Messages were lost, duplicated, reordered or misdelivered.
    FAILED = "failed"


#: The exit code where only a candidate that passes is accepted.
EXIT_CODES: Mapping[GateVerdict, ExitCode] = {
    GateVerdict.PASS: ExitCode.OK,
    GateVerdict.FASTER: ExitCode.OK,
    GateVerdict.REGRESSED: ExitCode.SHOWN,
    GateVerdict.INCONCLUSIVE: ExitCode.CONTAMINATED,
    GateVerdict.CONTAMINATED: ExitCode.CONTAMINATED,
    GateVerdict.FAILED: ExitCode.SHOWN,
}

#: The worst of several verdicts comes first.
_ORDER = (
    GateVerdict.FAILED,
    GateVerdict.CONTAMINATED,
    GateVerdict.REGRESSED,
    GateVerdict.INCONCLUSIVE,
    GateVerdict.FASTER,
    GateVerdict.PASS,
)


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of both brokers in one pair of lives."""

    #: Name of the metric.
    family: str
    #: Number of the pair, from 1.
    pair: int
    #: ln(candidate / baseline); None where one of them is unknown or not above 0.
    log_ratio: float | None


@dataclass(frozen=True, slots=True)
class FamilyVerdict:
    """The judgement of a family."""

    #: Name of the metric.
    family: str
    #: candidate / baseline with its 95 % interval over all pairs of lives; None where the metric is unknown or
    #: not above 0 for one of the brokers.
    ratio: Interval | None
    #: Smallest relative change that would have been detected with a probability of POWER; None without a ratio.
    smallest_detectable: float | None
    #: Relative change from which the candidate counts as slower.
    margin: float
    #: The verdict.
    verdict: GateVerdict
    #: Standard deviation of the logarithm between pairs of lives; None without a ratio.
    scatter_of_pairs: float | None = None
    #: Hodges-Lehmann estimate of the ratio, which a single bad pair does not move; None without a ratio.
    robust_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the pairs measured so far say."""

    #: In the order of the families.
    families: tuple[FamilyVerdict, ...]
    #: Pairs that must be measured before the next decision; 0 where the gate has ended.
    more_pairs: int
    #: Why they are needed; empty where the gate has ended.
    reason: str

    @property
    def verdict(self) -> GateVerdict:
        """The overall verdict: a regression of any family, else what the deciding families say."""
        found = {family.family: family.verdict for family in self.families}
        if GateVerdict.REGRESSED in found.values():
            return GateVerdict.REGRESSED
        return worst(found[name] for name in deciding(found))


def worst(verdicts: Iterable[GateVerdict]) -> GateVerdict:
    """The verdict of several parts."""
    found = set(verdicts)
    return next(verdict for verdict in _ORDER if verdict in found)


def judge(rows: Sequence[MetricRow], rules: GateRules) -> Judgement:
    """The judgement after the pairs measured so far; the same rows always lead to the same judgement.

    rows: one of each family for every pair of lives, pairs numbered from 1 without a gap
    rules: of the gate

    Raises ValueError if a family lacks a pair.
    """
    values = _by_family(rows)
    margins = {name: rules.margin_of(name) for name in values}
    measured = len(next(iter(values.values())))
    verdicts: dict[str, GateVerdict] = {}
    pairs, more, reason = 0, 0, ""
    alpha = ALPHA / len(rules.looks)
    for look in rules.looks:
        pairs = max(pairs, look)
        if measured < pairs:
            more, reason = pairs - measured, f"look after {pairs} pairs of lives"
            break
        suspected = _look(values, pairs, alpha, margins, verdicts)
        if suspected and rules.confirming:
            fresh = slice(pairs, pairs + rules.confirming)
            pairs += rules.confirming
            if measured < pairs:
                more = pairs - measured
                reason = f"fresh pairs of lives must confirm the change of {', '.join(suspected)}"
                break
            _confirm(values, fresh, margins, suspected, verdicts)
        elif suspected:
            verdicts |= suspected
        undecided = (name for name in values if name not in verdicts)
        if not any(_open(values[name][:pairs], margins[name], decides=name in deciding(values)) for name in undecided):
            break
    alpha_shown = alpha / len(values)
    families = tuple(
        _family(name, values[name], margins[name], alpha_shown, verdicts.get(name, GateVerdict.INCONCLUSIVE))
        for name in values
    )
    return Judgement(families, more, reason)


def _by_family(rows: Sequence[MetricRow]) -> dict[str, list[float | None]]:
    values: dict[str, dict[int, float | None]] = {}
    for row in rows:
        values.setdefault(row.family, {})[row.pair] = row.log_ratio
    pairs = sorted({row.pair for row in rows})
    if not pairs or pairs != list(range(1, len(pairs) + 1)):
        raise ValueError(f"pairs of lives are numbered from 1 without a gap, got {pairs}")
    for name, of_family in values.items():
        if sorted(of_family) != pairs:
            raise ValueError(f"{name}: expected pairs {pairs}, got {sorted(of_family)}")
    return {name: [of_family[pair] for pair in pairs] for name, of_family in values.items()}


def _look(
    values: Mapping[str, Sequence[float | None]],
    pairs: int,
    alpha: float,
    margins: Mapping[str, float],
    verdicts: dict[str, GateVerdict],
) -> dict[str, GateVerdict]:
    """Adds the families that pass to `verdicts`; returns those that seem to have changed."""
    undecided = _known({name: of_family[:pairs] for name, of_family in values.items() if name not in verdicts})
    changed = _changed(undecided, alpha, margins)
    for name, first in undecided.items():
        if name not in changed and _upper(first, alpha) < math.log1p(margins[name]):
            verdicts[name] = GateVerdict.PASS
    return changed


def _confirm(
    values: Mapping[str, Sequence[float | None]],
    fresh: slice,
    margins: Mapping[str, float],
    suspected: Mapping[str, GateVerdict],
    verdicts: dict[str, GateVerdict],
) -> None:
    """Adds the suspected families that the fresh pairs confirm; the others are judged at the next look."""
    again = _changed(_known({name: values[name][fresh] for name in suspected}), ALPHA, margins)
    verdicts |= {name: verdict for name, verdict in again.items() if verdict == suspected[name]}


def _known(values: Mapping[str, Sequence[float | None]]) -> dict[str, list[float]]:
    """The families of which every value is known."""
    known = {name: [value for value in of_family if value is not None] for name, of_family in values.items()}
    return {name: of_family for name, of_family in known.items() if len(of_family) == len(values[name])}


def _changed(
    known: Mapping[str, Sequence[float]], alpha: float, margins: Mapping[str, float]
) -> dict[str, GateVerdict]:
    """The families whose interval does not cover 0 (Holm 1979) and whose estimate exceeds the margin."""
    found: dict[str, GateVerdict] = {}
    by_p = sorted(known, key=lambda name: _p_value(known[name]))
    for index, name in enumerate(by_p):
        if _p_value(known[name]) > alpha / (len(by_p) - index):
            break
        mean = float(np.mean(known[name]))
        if mean > math.log1p(margins[name]):
            found[name] = GateVerdict.REGRESSED
        elif mean < -math.log1p(margins[name]):
            found[name] = GateVerdict.FASTER
    return found


def _open(values: Sequence[float | None], margin: float, *, decides: bool) -> bool:
    """Whether an undecided family needs another look: one that decides, or one that may have regressed."""
    known = [value for value in values if value is not None]
    return len(known) == len(values) and (decides or float(np.mean(known)) > math.log1p(margin))


def _p_value(values: Sequence[float]) -> float:
    """Of the two-sided t test that the mean is 0."""
    return p_value(float(np.mean(values)), _standard_error(values), len(values) - 1)


def _upper(values: Sequence[float], alpha: float) -> float:
    """The upper end of the two-sided interval with the error alpha."""
    return float(np.mean(values) + quantile(len(values) - 1, 1 - alpha / 2) * _standard_error(values))


def _standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def smallest_detectable(scatter: float, pairs: int, alpha: float) -> float:
    """The relative change that a two-sided t test with the error alpha detects with the probability POWER.

    The noncentral distribution is approximated by the sum of both quantiles: for 5 to 12 pairs the probability is in
    fact 73 to 79 %.
    """
    quantiles = quantile(pairs - 1, 1 - alpha / 2) + quantile(pairs - 1, POWER)
    return math.expm1(quantiles * scatter / math.sqrt(pairs))


def smallest_margin(scatter: float) -> float:
    """The margin that an unchanged candidate stays below at the last look, with the usual power.

    scatter: standard deviation of the logarithm between pairs of lives
    """
    return smallest_detectable(scatter, LOOKS[-1], ALPHA / len(LOOKS))


def hodges_lehmann(values: Sequence[float]) -> float:
    """The median of all means of two values, each value with itself included (Hodges and Lehmann 1963)."""
    array = np.asarray(values, dtype=float)
    first, second = np.triu_indices(len(array))
    return float(np.median((array[first] + array[second]) / 2))


def _family(
    name: str, values: Sequence[float | None], margin: float, alpha: float, verdict: GateVerdict
) -> FamilyVerdict:
    known = [value for value in values if value is not None]
    if len(known) < len(values):  # what was decided before stays decided
        return FamilyVerdict(name, None, None, margin, verdict)
    ratio = mapped(mean_interval(known), math.exp)
    if len(known) < 2:
        return FamilyVerdict(name, ratio, None, margin, verdict)
    scatter = float(np.std(known, ddof=1))
    return FamilyVerdict(
        name,
        ratio,
        smallest_detectable(scatter, len(known), alpha),
        margin,
        verdict,
        scatter,
        math.exp(hodges_lehmann(known)),
    )

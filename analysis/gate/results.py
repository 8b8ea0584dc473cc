"""The result of a gate as a value, and as a JSON object."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from analysis.gate.verdict import FamilyVerdict, GateVerdict
from analysis.intervals import mapped, mean_interval
from analysis.results import Finding, Interval
from workloads.gate import GateRole, GateRules, deciding
from workloads.schema import RunKind

#: Raised when a key of the JSON object or its meaning changes.
GATE_SCHEMA = 1

#: Verdicts with which a gate has passed.
PASSING = (GateVerdict.PASS, GateVerdict.FASTER)

#: What each verdict says of the candidate; of FAILED its kind of gate does.
_MEANING = {
    GateVerdict.PASS: "the candidate is not slower by the margin",
    GateVerdict.FASTER: "the candidate is faster by more than the margin",
    GateVerdict.REGRESSED: "the candidate is slower by more than the margin",
    GateVerdict.INCONCLUSIVE: "the pairs of lives differ too much to say",
    GateVerdict.CONTAMINATED: "the conditions of the comparison were not met",
}


@dataclass(frozen=True, slots=True)
class GateWords:
    """The words of a kind of gate."""

    #: What is compared.
    figure: str
    #: The option with its number of pairs of lives.
    pairs: str
    #: What FAILED says of the brokers.
    failed: str


_LOST = "messages were lost, duplicated, reordered or misdelivered"

_WORDS: Mapping[RunKind, GateWords] = {
    RunKind.THROUGHPUT: GateWords("time per message", "--pairs", _LOST),
    RunKind.WORKLOAD: GateWords("CPU time and delivery times", "--pairs", _LOST),
    RunKind.FAULTS: GateWords(
        "times after a fault", "--repetitions", "the candidate broke a promise that the baseline kept, or stayed away"
    ),
}


@dataclass(frozen=True, slots=True)
class CellComparison:
    """A cell, or a metric that belongs to no family, over all pairs of lives."""

    #: Experiment and cell.
    cell: str
    #: candidate / baseline with its 95 % interval over pairs of lives.
    ratio: Interval
    #: The same in each pair of lives.
    by_pair: tuple[float, ...]

    @classmethod
    def of(cls, cell: str, log_ratios: Sequence[float]) -> Self:
        """From the logarithms of the ratios, one per pair of lives."""
        return cls(cell, mapped(mean_interval(log_ratios), math.exp), tuple(map(math.exp, log_ratios)))


@dataclass(frozen=True, slots=True)
class RoleActivity:
    """What the process of one role did while it was under load."""

    #: Share of the measured time in pauses for garbage collection; None without a log.
    gc_pauses: float | None
    #: Share of its CPU time used by the JVM's compiler; None without a JVM.
    compiler: float | None


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of a gate."""

    #: Name of the run.
    run: str
    #: Its directory.
    path: str
    #: The baseline as the user named it.
    baseline: str
    #: The candidate as the user named it.
    broker: str
    #: Product, version, provider and protocol by role.
    titles: Mapping[GateRole, str]
    #: What was compared, as in "6 cells of replication".
    what: str
    #: Pairs of lives measured.
    pairs: int
    #: The rules, fixed before the first pair.
    rules: GateRules
    #: Judged families, in their order.
    families: tuple[FamilyVerdict, ...]
    #: All cells.
    cells: tuple[CellComparison, ...]
    #: Findings: first those that override the verdict, then remarks, whose consequence is VALID.
    findings: tuple[Finding, ...]
    #: Verdict of the families.
    judged: GateVerdict
    #: FAILED or CONTAMINATED where the families must not be believed.
    overriding: GateVerdict | None
    #: Neither broker could be started anew: the verdict is about these processes.
    of_processes: bool = False
    #: Half the difference of the ratio with the candidate first and second, over pairs of lives; None where unknown.
    order_effect: Interval | None = None
    #: Standard deviation of the ratio of two adjacent slices; None where unknown.
    slice_scatter: float | None = None
    #: By role.
    activity: Mapping[GateRole, RoleActivity] | None = None
    #: Of the run.
    kind: RunKind = RunKind.THROUGHPUT
    #: Times of baseline and candidate by family, s: the medians over the pairs of lives; none where only their ratio is
    #: comparable.
    medians_s: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    #: By family, why it could not be judged of either broker.
    not_applicable: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> GateWords:
        """What it says of itself."""
        return _WORDS[self.kind]

    @property
    def meaning(self) -> str:
        """What its verdict says of the candidate."""
        return self.words.failed if self.verdict is GateVerdict.FAILED else _MEANING[self.verdict]

    @property
    def deciding(self) -> tuple[FamilyVerdict, ...]:
        """The families that decide whether the gate has passed."""
        names = deciding(family.family for family in self.families)
        return tuple(family for family in self.families if family.family in names)

    @property
    def verdict(self) -> GateVerdict:
        """The overall verdict."""
        return self.overriding or self.judged


def overriding(wrong: Sequence[Finding], unmet: Sequence[Finding]) -> GateVerdict | None:
    """The verdict in place of that of the families.

    wrong: what a gate fails for
    unmet: conditions of the comparison
    """
    return GateVerdict.FAILED if wrong else GateVerdict.CONTAMINATED if unmet else None


def gate_json(results: Sequence[GateResult]) -> dict[str, Any]:
    """The results as one JSON object: of a single gate its record, of several a list of them."""
    records = [record(result) for result in results]
    return records[0] if len(records) == 1 else {"schema": GATE_SCHEMA, "gates": records}


def record(result: GateResult) -> dict[str, Any]:
    """The JSON object of a gate."""
    return {
        "schema": GATE_SCHEMA,
        **{name: getattr(result, name) for name in ("run", "baseline", "broker", "pairs", "of_processes")},
        "titles": dict(result.titles),
        "margin": result.rules.margin,
        "policy": result.rules.policy.value,
        "families": [_with_ratio(family) | _medians(result, family.family) for family in result.families],
        "cells": [_with_ratio(cell) for cell in result.cells],
        "order_effect": None if result.order_effect is None else ratio_json(result.order_effect),
        "slice_scatter": result.slice_scatter,
        "findings": [
            {name: getattr(finding, name) for name in ("what", "measured", "limit", "advice")}
            for finding in result.findings
        ],
        "verdict": result.verdict.value,
    }


def _with_ratio(compared: FamilyVerdict | CellComparison) -> dict[str, Any]:
    return asdict(compared) | ratio_json(compared.ratio)


def _medians(result: GateResult, family: str) -> dict[str, Any]:
    return {"medians_s": result.medians_s[family]} if family in result.medians_s else {}


def ratio_json(ratio: Interval | None) -> dict[str, Any]:
    return {"ratio": None, "ci95": None} if ratio is None else {"ratio": ratio.estimate, "ci95": ratio.ci95}

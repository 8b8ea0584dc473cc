"""Which item of a gate fails, and the text of its failure."""

from __future__ import annotations

from analysis.gate.results import PASSING, GateResult
from analysis.gate.tables import NO_RATIO, change, changes
from analysis.gate.verdict import GateVerdict
from workloads.gate import CORRECTNESS, Policy


def failure(result: GateResult, item: str, *, strict: bool) -> str:
    """Why an item fails; empty if it does not.

    result: of the gate
    item: a family, or CORRECTNESS for that of all deliveries and of the conditions
    strict: whether `inconclusive` fails a family that decides
    """
    if item == CORRECTNESS:
        lines = [finding.reason for finding in result.findings]
        return "\n".join([f"{result.overriding}: {result.meaning}", *lines]) if result.overriding else ""
    family = next((each for each in result.families if each.family == item), None)
    if family is None:
        return f"{item}: was to be judged, and was not measured"
    if result.overriding or result.rules.calibrate or family.verdict in PASSING:
        return ""  # the item of the correctness has failed, or nothing is judged
    strict = strict or result.rules.policy is Policy.NON_INFERIORITY
    if family.verdict is GateVerdict.INCONCLUSIVE and not (strict and family in result.deciding):
        return ""
    measured = (
        f"{NO_RATIO}, since it is unknown or not above 0"
        if family.ratio is None
        else f"{change(family.ratio.estimate)}, 95 % interval {changes(family.ratio)}"
    )
    these = " of these processes" if result.of_processes else ""
    return (
        f"{family.verdict}: {item} of {result.broker} against {result.baseline}{these}: {measured}; margin "
        f"{family.margin:.1%}, over {result.pairs} pairs"
    )

"""The words of a regression gate: roles of the two brokers, families, looks and policies. Data, and no effects.

A gate compares two brokers. Its unit is the *pair of lives*: one start of each broker.
After a planned number of pairs (a *look*) each family is judged; see `analysis.gate.verdict` for the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class GateRole(StrEnum):
    """The role of a broker in a gate; its name in every record."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"


class Policy(StrEnum):
    """What a change that could not be decided does to the exit code."""

    #: Only a change that was shown fails the gate.
    BLAME = "blame"
    #: Only a candidate that was shown not to be slower passes the gate.
    NON_INFERIORITY = "non-inferiority"
    #: As `blame`, but no verdict changes the exit code.
    REPORT = "report"


#: Name of the item of a gate for the audit and the conditions; the others are named after their families.
CORRECTNESS = "correctness"

#: The family of the mean over all cells.
ALL_CELLS = "all cells"

#: The families of a gate with a business workload: CPU time of the broker per message, and the median and the 90th
#: percentile of the delivery time.
SCENARIO_FAMILIES = ("CPU per message", "delivery p50", "delivery p90")

#: Of a gate with faults: what is judged of each cell, the times of the same name in `workloads.faults.course`.
FAULT_FIGURES = ("away", "backlog gone")


def fault_family(cell: str, figure: str) -> str:
    """The family of a figure of a cell with a fault."""
    return f"{cell} {figure}"


#: Families that decide whether a gate has passed. The other costs of the model are less precise: only a regression of
#: theirs counts.
DECIDING = (ALL_CELLS, "t_tx")


def deciding(families: Iterable[str]) -> tuple[str, ...]:
    """Those of the judged families that decide: DECIDING, or all of them where none of these was measured."""
    found = tuple(families)
    return tuple(name for name in found if name in DECIDING) or found


#: Pairs of lives after which the families are judged.
LOOKS = (5, 8, 12)

#: Fresh pairs of lives that must confirm a change before it is called one.
CONFIRMING_PAIRS = 5

#: Fewest pairs of lives from which an interval is taken.
FEWEST_PAIRS = 5

#: Pairs of lives of a calibration, which compares a broker with itself.
CALIBRATION_PAIRS = 8

#: Relative change from which a candidate counts as slower, unless the user sets another.
MARGIN = 0.05

#: The same of the times after a fault.
FAULT_MARGIN = 0.25

#: Smallest and largest margin that may be asked for.
MARGINS = (0.001, 0.5)


@dataclass(frozen=True, slots=True)
class GateRules:
    """What a gate was asked, fixed before its first pair of lives."""

    #: Relative change from which the candidate counts as slower.
    margin: float
    #: What a change that could not be decided does to the exit code.
    policy: Policy
    #: Pairs of lives after which the families are judged.
    looks: tuple[int, ...]
    #: Fresh pairs that must confirm a change; 0 where the number of pairs is fixed in advance.
    confirming: int
    #: Whether the baseline is compared with itself, to learn the noise of this machine.
    calibrate: bool = False
    #: Smallest margin by family that a calibration on this machine found.
    calibrated: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    #: Remark on a calibration that does not count here; empty without one.
    uncalibrated: str = ""

    def margin_of(self, family: str) -> float:
        """The margin of a family: costs that do not decide have at least the calibrated one."""
        return self.margin if family in DECIDING else max(self.margin, self.calibrated.get(family, 0.0))

    @property
    def most_pairs(self) -> int:
        """Pairs of lives of the longest gate: every look can ask for a confirmation."""
        pairs = 0
        for look in self.looks:
            pairs = max(pairs, look) + self.confirming
        return pairs

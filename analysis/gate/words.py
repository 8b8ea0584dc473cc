"""What a gate says of itself, by the kind of run that it compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.schema import RunKind


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

WORDS: Mapping[RunKind, GateWords] = {
    RunKind.THROUGHPUT: GateWords("time per message", "--pairs", _LOST),
    RunKind.WORKLOAD: GateWords("CPU time and delivery times", "--pairs", _LOST),
    RunKind.FAULTS: GateWords(
        "times after a fault", "--repetitions", "the candidate broke a promise that the baseline kept, or stayed away"
    ),
}

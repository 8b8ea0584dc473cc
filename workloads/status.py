"""What a cell, a slice and a verdict can be."""

from __future__ import annotations

from enum import StrEnum


class CellStatus(StrEnum):
    """Whether a cell's numbers may be used; only `ok` enters a fit."""

    OK = "ok"
    NOT_SATURATED = "not-saturated"
    GENERATOR_BOUND = "generator-bound"
    UNSTEADY = "unsteady"
    AUDIT_FAILED = "audit-failed"
    #: Copies are missing where the protocol promises no more: the audit has not failed, but the numbers are of no use.
    LOSSY = "lossy"
    NOT_APPLICABLE = "not-applicable"


class WindowStatus(StrEnum):
    """The purpose of a slice: the analysis uses `ok`; warm-up slices are audited like all others."""

    OK = "ok"
    WARM_UP = "warm-up"


class VerdictKind(StrEnum):
    VALID = "valid"
    INVALID = "invalid"
    UNVERIFIED = "unverified"


class ClaimVerdict(StrEnum):
    """What a run says about a claim of a publication."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_DECIDABLE = "not decidable"

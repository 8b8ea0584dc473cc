"""What a cell, a slice and a verdict can be."""

from __future__ import annotations

from enum import StrEnum


class CellStatus(StrEnum):
    """What a cell's numbers are worth; only `ok` enters a fit."""

    OK = "ok"
    NOT_SATURATED = "not-saturated"
    GENERATOR_BOUND = "generator-bound"
    UNSTEADY = "unsteady"
    AUDIT_FAILED = "audit-failed"
    NOT_APPLICABLE = "not-applicable"


class WindowStatus(StrEnum):
    """What a slice is for: the analysis takes `ok`; what makes the broker warm is audited like everything."""

    OK = "ok"
    WARM_UP = "warm-up"


class VerdictKind(StrEnum):
    VALID = "valid"
    INVALID = "invalid"
    UNVERIFIED = "unverified"

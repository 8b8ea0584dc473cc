"""The limits that decide whether a number may be believed, fixed before any result is seen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What a cell's numbers are worth; only `ok` enters a fit."""

    OK = "ok"
    NOT_SATURATED = "not-saturated"
    GENERATOR_BOUND = "generator-bound"
    CONTAMINATED = "contaminated"
    UNSTEADY = "unsteady"
    AUDIT_FAILED = "audit-failed"
    NOT_APPLICABLE = "not-applicable"


class WindowStatus(StrEnum):
    """What a window is for: the analysis takes `ok` and shows the rest."""

    OK = "ok"
    WARM_UP = "warm-up"
    REPEATED = "repeated"  # the host's speed deviated; measured again
    CONTAMINATED = "contaminated"  # it deviated in every repeat as well


class VerdictKind(StrEnum):
    VALID = "valid"
    INVALID = "invalid"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Rule:
    """One limit: `limit` in `unit`, and where it comes from."""

    name: str
    limit: float
    unit: str
    source: str


CONSERVATION = Rule(
    "flow conservation",
    0.01,
    "relative deviation of dispatched / (r x received) from 1",
    "queues must neither grow nor shrink inside a window; measured: within 0.003 in 3 s windows",
)
BROKER_CPU = Rule(
    "broker CPU",
    0.95,
    "of its CPU set, at least",
    "Henjes et al. 2006, section 3.3: a fully loaded server uses at least 95 %",
)
LOAD_CPU = Rule(
    "load CPU",
    0.75,
    "of a core per worker, at most",
    "Henjes et al. 2006, section 3.3: client machines below 75 %",
)
HOST_SPEED = Rule(
    "host speed",
    0.05,
    "relative deviation from the run's median",
    "a shared host has slow spells that CPU accounting does not show",
)
IDLE_CPU = Rule(
    "idle broker",
    0.02,
    "of its CPU set before the load, at most",
    "Henjes et al. 2006, section 3.3",
)
DRIFT = Rule(
    "drift",
    0.02,
    "per minute: what B changes by, beside what the cells explain",
    "measured: 25 s of load after a JVM's start ran up to 2.3 times slower than later",
)
STATIONARY = Rule(
    "stationary warm-up",
    0.03,
    "largest relative change of a cell's rate between two rounds of warm-up",
    "two windows of a warm cell agree within 1-3 %",
)
CELL_MISFIT = Rule(
    "cell off the fit",
    0.05,
    "relative deviation of a cell's mean from the fit: a finding",
    "a cell that far off is not explained by window noise of 1-3 %",
)
FIT_MISFIT = Rule(
    "fit invalid",
    0.15,
    "relative deviation of an included cell's mean from the fit, at most",
    "beyond it the plane is not a description of the cells",
)
BACKLOG = Rule(
    "messages in flight",
    0.20,
    "of the messages received in a window, at most",
    "bounds what a window's edges can misattribute",
)
ROOFLINE = Rule(
    "transmission cap",
    10,
    "AICc of the plane less that of the roofline, more than",
    "Burnham and Anderson, Model Selection and Multimodel Inference, 2002, section 2.6: a model more than 10 behind "
    "has essentially no support",
)
CAPPED_CELLS = Rule(
    "cells at the cap",
    2,
    "cells, at least",
    "a single cell that lies off is a disturbance; two that agree in B / r are a cap",
)
EXTRAPOLATION = Rule(
    "extrapolation",
    2,
    "times the largest number of filters and the largest replication grade measured, at most",
    "the plane was seen nowhere beyond the grid; as far again is still the same order of size",
)

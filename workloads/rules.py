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

# What the words of the paper's claims mean as numbers (Henjes et al. 2006, sections 4.1 to 4.5).
ALIKE = Rule(
    "alike",
    0.10,
    "relative difference of two throughputs, at most",
    "`similar`, `differ only slightly`, `almost independent`: the paper gives no number; several times the 1-3 % "
    "by which two windows of a cell differ",
)
SLIGHT_FALL = Rule(
    "falls slightly",
    1 / 3,
    "relative fall, below",
    "the paper calls slight what by its own figures is 30 % (4.1, 10 to 320 subscribers) and by its own model 28 % "
    "(4.5, 5 to 160 further filters at r = 1)",
)
ORDER = Rule("order of magnitude", 10.0, "ratio", "`two orders` are 10^1.5 to 10^2.5, `the same order` 0.1 to 10")
AS_PUBLISHED = Rule(
    "as published",
    1.25,
    "factor between a ratio and the published one, at most",
    "ratios carry over between machines, if at all, only roughly",
)
BELOW_TREND = Rule(
    "below the trend",
    0.05,
    "relative shortfall against the plane through r <= 10, at least",
    "what counts as a cell off the fit; it covers the plane's own error",
)

LATENESS = Rule(
    "generator lateness",
    0.10,
    "of the latency quoted beside it, at most, at the same percentile; at least the floor is allowed",
    "design: a percentile that the generator's own lateness dominates says nothing about the broker",
)
LATENESS_FLOOR = Rule(
    "generator lateness, floor",
    0.001,
    "s: a lateness that is never held against a percentile",
    "what a process on a shared core cannot promise to undercut",
)
LATENESS_FATAL = Rule(
    "generator lateness, fatal",
    90,
    "percent: from this percentile down a lateness beyond its limit makes the run invalid",
    "one message in ten that is late is no longer the load that was asked for",
)
OPEN_LOOP = Rule(
    "open loop in balance",
    0.01,
    "relative deviation of the messages received from those planned, and of the copies dispatched from those "
    "expected, over all windows of a cell; three standard deviations of a Poisson count where that is more",
    "a queue may vary within a window, and must not grow through all of them",
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

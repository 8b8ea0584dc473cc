"""The limits that decide whether a number may be believed, fixed before any result is seen."""

from __future__ import annotations

from dataclasses import dataclass


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
    "relative deviation of dispatched / (r x received) from 1, over all slices of a cell",
    "queues must neither grow nor shrink; measured: within 0.003",
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
IDLE_CPU = Rule(
    "idle broker",
    0.02,
    "of its CPU set before the load, at most",
    "Henjes et al. 2006, section 3.3",
)
WARM_CONTRASTS = Rule(
    "warm: contrasts",
    0.03,
    "rms change of the cells' contrasts, last rounds against those before, beyond what their scatter explains",
    "measured on a JVM: compiling changes single cells by 10 to 30 %; a warm cell repeats itself within 2 to 4 %",
)
WARM_COMPILER = Rule(
    "warm: compiler",
    0.01,
    "of the broker's CPU time, by its JVM's compiler, below, in two rounds in a row",
    "measured on ActiveMQ Classic: 34 % in the first 3 s of load, below 0.5 % after some 30 s",
)
LAYOUTS = Rule(
    "layouts",
    4,
    "layouts per broker and start, at least, for an interval",
    "the layout is the unit of every interval; the t quantile of fewer is too wide to say anything",
)
PRECISION = Rule(
    "precision",
    0.15,
    "half-width of a coefficient's 95 % interval, relative to the estimate, at most",
    "a coefficient that may be a sixth off is known; a wider interval asks for more layouts",
)
DISTURBED = Rule(
    "disturbed host",
    1 / 3,
    "of the slices in rounds that lie 10 % or more above the median level, at most",
    "the cost at the median round is the undisturbed cost while less than a third of the rounds is disturbed",
)
DISTURBED_LEVEL = Rule(
    "disturbed round",
    0.10,
    "of the median level, above it",
    "measured on a shared host: rounds scatter by 2 to 4 %, and are 20 to 30 % slower while a neighbour is busy",
)
GOOD = Rule(
    "plane: good",
    0.05,
    "relative deviation of every cell from the plane, at most, at the near end of its interval",
    "the plane describes the broker as well as its cells repeat themselves",
)
ROUGH = Rule(
    "plane: rough",
    0.15,
    "relative deviation of every cell from the plane, at most, at the near end of its interval",
    "beyond it the plane is not a description of the cells",
)
CARRY_OVER = Rule(
    "carry-over",
    0.01,
    "of B: standard deviation of what the preceding cell adds to a slice, where significant at 1 %",
    "as much is lost in the intervals; more says that the ramp is too short",
)
ROBUST_MEAN = Rule(
    "mean and robust value",
    0.02,
    "relative difference, where no log of the JVM's pauses tells what is cost and what is the host",
    "a robust value must not trim away a cost of the broker's own",
)
IDLE_BROKER = Rule(
    "idle broker beside the load",
    0.01,
    "of a core, at most, by another live broker while a slice is measured",
    "it would be taken from the broker under load",
)
BACKLOG = Rule(
    "messages in flight",
    0.20,
    "of the messages received in a slice, at most",
    "bounds what a slice's edges can misattribute",
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
CAPACITY_DROP = Rule(
    "capacity beside the open loops",
    0.10,
    "of the median over the start's rounds, below it: the open loops of that round are left out",
    "an open loop is a share of the capacity; measured on a shared host: rounds scatter by 2 to 4 %, and are 20 to "
    "30 % slower while a neighbour is busy, where a load of 90 % is an overload",
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

"""The limits that decide whether a result is accepted, fixed before any result is seen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit against which a measured quantity is checked."""

    name: str
    limit: float
    #: unit of `limit`, and how it is applied
    unit: str
    #: publication or measurement that the limit is taken from, or the reason for it
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
    "rms change of the cells' contrasts, last rounds against the preceding ones, in excess of their scatter",
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
    "a coefficient with an error of at most one sixth counts as known; a wider interval needs more layouts",
)
CELL_PRECISION = Rule(
    "precision of a cell",
    0.10,
    "half-width of the 95 % interval of a cell's B, relative to it, at most, in an experiment without a model",
    "what its table is read for is the ratio of two cells, which two cells known to 10 % give to the 15 % of a "
    "coefficient: the root of 2 times as much",
)
STOLEN = Rule(
    "stolen time",
    0.05,
    "of the time of the broker's CPUs, given to other machines by the hypervisor, from it on",
    "B is corrected by it, layout by layout; from one part in twenty on the host is not the one that was paid for, and "
    "what it does to caches is not corrected",
)
DISTURBED = Rule(
    "disturbed host",
    0.6,
    "of the slices in rounds that are 10 % or more slower than the median undisturbed round, at most",
    "simulated: in 3,322 runs with a third to 0.6 of their slices in such rounds 94.3 to 95.3 % of the intervals have "
    "the truth in them, on a host that is disturbed a fifth of the time 94.0 to 95.6 %; beyond it intervals widen",
)
DISTURBED_LEVEL = Rule(
    "disturbed round",
    0.10,
    "of the level of the median undisturbed round, in excess of it",
    "measured on a shared host: rounds scatter by 2 to 4 %, and are 20 to 30 % slower while another guest is busy",
)
GOOD = Rule(
    "plane: good",
    0.05,
    "relative deviation of every cell from the plane, at most, at the near end of its interval",
    "the plane's error is as small as the repeatability of the cells",
)
ROUGH = Rule(
    "plane: rough",
    0.15,
    "relative deviation of every cell from the plane, at most, at the near end of its interval",
    "beyond it the plane is not a description of the cells",
)
NEGLIGIBLE = Rule(
    "negligible coefficient",
    0.05,
    "of B, below: the upper end of a coefficient's 95 % interval times its number in the cell where that is the most "
    "(for filters that with most of them); of an interval below 0 the lower end",
    "it adds less to any cell than a cell may deviate from a good plane; relative to an estimate near 0 no interval is "
    "narrow, and for a broker that looks topics up a subscription costs nothing measurable",
)
CARRY_OVER = Rule(
    "carry-over",
    0.01,
    "of B: standard deviation of what the preceding cell adds to a slice, where significant at 1 %",
    "an effect of this size is negligible compared with the intervals; a larger one means that the ramp is too short",
)
ROBUST_MEAN = Rule(
    "mean and robust value",
    0.02,
    "relative difference, where no log of the JVM's pauses separates the broker's cost from host interference",
    "a robust value must not trim away a cost of the broker itself",
)
IDLE_BROKER = Rule(
    "idle broker beside the load",
    0.03,
    "of a core, at most, by another live broker while a slice is measured",
    "that CPU time is missing to the broker under load; measured: an idle ActiveMQ Classic with 1,300 connections "
    "takes 0.9 % all the time, which cancels in a ratio, and 5 to 28 % where its JVM compiles or collects",
)
LEFT_OUT = Rule(
    "pairs of adjacent slices left out",
    1 / 3,
    "of those of a gate, at most",
    "each pair that is left out takes one of the other order with it; beyond a third too few of a cell remain",
)
BACKLOG = Rule(
    "messages in flight",
    0.20,
    "of the messages received in a slice, at most",
    "bounds the messages that can be attributed to the wrong slice at its edges",
)

# Numerical meaning of the wording of the paper's claims (Henjes et al. 2006, sections 4.1 to 4.5).
ALIKE = Rule(
    "alike",
    0.10,
    "relative difference of two throughputs, at most",
    "`similar`, `differ only slightly`, `almost independent`: the paper gives no number; several times the 1-3 % "
    "by which two slices of a cell differ",
)
SLIGHT_FALL = Rule(
    "falls slightly",
    1 / 3,
    "relative fall, below",
    "the paper calls slight a fall that is 30 % in its own figures (4.1, 10 to 320 subscribers) and 28 % in its own "
    "model (4.5, 5 to 160 further filters at r = 1)",
)
ORDER = Rule("order of magnitude", 10.0, "ratio", "`two orders` are 10^1.5 to 10^2.5, `the same order` 0.1 to 10")
AS_PUBLISHED = Rule(
    "as published",
    1.25,
    "factor between a ratio and the published one, at most",
    "ratios transfer between machines only roughly, if at all",
)
BELOW_TREND = Rule(
    "below the trend",
    0.05,
    "relative shortfall against the plane fitted to r <= 10, at least",
    "a smaller deviation is within the error of the plane itself",
)

LATENESS = Rule(
    "generator lateness",
    0.10,
    "of the latency at the same percentile, at most; never less than the floor",
    "design: a percentile dominated by generator lateness says nothing about the broker",
)
LATENESS_FLOOR = Rule(
    "generator lateness, floor",
    0.001,
    "s: lateness below this never disqualifies a percentile",
    "a process on a shared core cannot guarantee less",
)
LATENESS_FATAL = Rule(
    "generator lateness, fatal",
    90,
    "percent: lateness beyond its limit at this percentile or a lower one makes the run invalid",
    "with one message in ten late, the load is no longer the one that was asked for",
)
OPEN_LOOP = Rule(
    "open loop in balance",
    0.01,
    "relative deviation of the messages received from those planned, and of the copies dispatched from those "
    "expected, over all slices of a cell; three standard deviations of a Poisson count where that is more",
    "a queue may vary within a slice, but must not grow over all slices",
)
CAPACITY_DROP = Rule(
    "capacity beside the open loops",
    0.10,
    "of the median over the start's rounds, below it: the open loops of that round are left out; and of the capacity "
    "in the warm-up, from which the rates follow, above or below it",
    "an open loop is a share of the capacity; measured on a shared host: rounds scatter by 2 to 4 %, and are 20 to "
    "30 % slower while another guest is busy, where a load of 90 % is an overload",
)
ROOFLINE = Rule(
    "transmission cap",
    10,
    "AICc of the plane less that of the roofline, more than",
    "Burnham and Anderson, Model Selection and Multimodel Inference, 2002, section 2.6: a model whose AICc is larger "
    "by more than 10 has essentially no support",
)
CAPPED_CELLS = Rule(
    "cells at the cap",
    2,
    "cells, at least",
    "a single deviating cell is a disturbance; two that agree in B / r are a cap",
)
EXTRAPOLATION = Rule(
    "extrapolation",
    2,
    "times the largest number of filters and the largest replication grade measured, at most",
    "the plane was not tested beyond the grid; twice its extent is still the same order of magnitude",
)

"""A whole study as a result in memory: every experiment with a figure, latency, claims, cells that are not `ok`.

Rates follow from TIMES of the synthetic run directories, so that a model line goes through its points.
"""

from dataclasses import replace

import numpy as np

from analysis import fit
from analysis.results import (
    AuditResult,
    CellAudit,
    CellKey,
    CellSummary,
    Claim,
    ClaimVerdict,
    Constrained,
    Finding,
    FittedCell,
    HostUse,
    Interval,
    LatencyResult,
    LeaveOneOut,
    Percentile,
    Roofline,
    RunResult,
    Variation,
)
from tests import run_directories as rd
from tests.analysis.cells import window
from workloads.lanes import LaneAudit
from workloads.rules import Status, VerdictKind

FURTHER = (0, 160, 640, 2560, 4960)
REPLICATION = (1, 2, 5, 10, 20, 40)

#: Cells of the replication experiment that missed a limit, and how.
DOUBTFUL = {
    (0, 1): (Status.NOT_SATURATED, "broker CPU 91% of its set, at least 95% are needed"),
    (640, 40): (Status.CONTAMINATED, "the host's speed deviated in all 3 windows"),
}


def cell(experiment, name, factors, n_fltr, r, seconds, *, broker="activemq", start=1, at_s=0.0, **changes):
    """A cell that took `seconds` per message in three windows."""
    received = Interval(1 / seconds, 0.985 / seconds, 1.015 / seconds)
    times = [
        Interval(*(end * copies for end in (received.estimate, received.low, received.high))) for copies in (r, r + 1)
    ]
    begin = 10**12 + round(at_s * 1e9)
    values = {
        "key": CellKey("20260101T000000000Z-study", broker, start, experiment, name),
        "profile": "today",
        "factors": factors,
        "pace": None,
        "connections": 21,
        "n_fltr": n_fltr,
        "routed": False,
        "replication": float(r),
        "fits_model": experiment == "replication",
        "received_per_s": received,
        "dispatched_per_s": times[0],
        "overall_per_s": times[1],
        "processing_s": Interval(seconds, seconds * 0.985, seconds * 1.015),
        "broker_cpu": 0.99,
        "gc_share": 0.021,
        "load_cpu": 0.31,
        "load_us_per_delivery": 2.9,
        "conservation": 1.0004,
        "windows": tuple(window(n, begin + n * 3 * 10**9, 3.0, round(3 / seconds)) for n in range(3)),
        "contaminated": 0,
        "status": Status.OK,
        "reason": "",
    }
    return CellSummary(**(values | changes))


def replication_cells(rng, broker="activemq", starts=1, factor=1.0):
    t_rcv, t_fltr, t_tx = rd.TIMES
    cells = []
    places = [(further, r) for further in FURTHER for r in REPLICATION]
    for start in range(1, starts + 1):
        for place, at in enumerate(rng.permutation(len(places))):
            further, r = places[at]
            seconds = (
                (t_rcv + (further + r) * t_fltr + r * t_tx) * factor * float(np.exp(0.012 * rng.standard_normal()))
            )
            status, reason = DOUBTFUL.get((further, r), (Status.OK, ""))
            cells.append(
                cell(
                    "replication",
                    rd.cell_name(further, r),
                    {"further": further, "replication": r},
                    further + r,
                    r,
                    seconds,
                    broker=broker,
                    start=start,
                    at_s=12.0 * place,
                    status=status,
                    reason=reason,
                )
            )
    return cells


def fitted_points(model, cells):
    """What a fit says of its cells, where the cells of the first start stand for all."""
    estimates = {name: interval.estimate for name, interval in model.parameters.items()}
    return tuple(
        FittedCell(
            one.key.cell,
            one.n_fltr,
            one.replication,
            one.processing_s,
            fit.processing_time_s(estimates, one.n_fltr, one.replication),
            (one.windows[1].middle_ns - 10**12) / 1e9,
        )
        for one in cells
        if one.key.cell in model.cells_used and one.key.broker == model.broker and one.key.start == 1
        if one.key.experiment == model.experiment
    )


def other_cells():
    """The experiments of sections 4.1 to 4.4, with numbers of a plausible shape."""
    t_rcv, t_fltr, t_tx = rd.TIMES
    for publishers, subscribers in [(p, m) for m in (1, 10) for p in (1, 2, 5, 10, 20, 40)] + [
        (20, m) for m in (2, 5, 20, 40, 80, 160, 320)
    ]:
        seconds = (t_rcv + subscribers * t_tx) * (1 + 1.5 / publishers)
        idle = subscribers == 1
        yield cell(
            "publishers_subscribers",
            f"p{publishers:02d}-m{subscribers:03d}",
            {"publishers": publishers, "subscribers": subscribers},
            subscribers,
            subscribers,
            seconds,
            pace="receipt, 1 in flight per publisher",
            status=Status.NOT_SATURATED if idle else Status.OK,
            reason="broker CPU 62% of its set, at least 95% are needed" if idle else "",
        )
    for place, kind in enumerate(("none", "correlation", "property")):
        for m in (1, 10, 50, 100, 300, 500):
            yield cell(
                "filter_activation",
                f"{kind}-m{m:03d}",
                {"filter": kind, "subscribers": m},
                m,
                m,
                (t_rcv + m * t_tx) * (1 + 0.03 * place),
            )
    for kind, on, ids in [
        (k, f, n) for k in ("simple", "or") for f in ("correlation", "property") for n in (5, 25, 50, 100)
    ]:
        filters = ids if kind == "simple" else 5
        yield cell(
            "or_filters",
            f"{kind}-{on}-n{ids:03d}",
            {"kind": kind, "filter": on, "ids": ids},
            filters,
            1,
            t_rcv + t_tx + ids * t_fltr * (30 if kind == "simple" else 18),
        )
    for series, length in [(s, n) for s in (1, 2, 3) for n in (1, 7, 13, 19, 25)]:
        yield cell(
            "and_filters",
            f"s{series}-n{length:02d}",
            {"series": series, "length": length},
            10,
            1,
            t_rcv + t_tx + (10 + length * series) * t_fltr * 20,
        )


def latencies():
    for arrivals in ("poisson", "constant"):
        for percent in (10, 25, 50, 75, 90, 95):
            wait = 2e-5 * percent / (100 - percent) * (1 if arrivals == "poisson" else 0.4)
            late = "the generator's own lateness dominates it" if percent == 10 else ""
            yield LatencyResult(
                key=CellKey("20260101T000000000Z-study", "activemq", 1, "latency", f"u{percent:02d}-{arrivals}"),
                profile="today",
                arrivals=arrivals,
                percent=percent,
                planned_per_s=250.0 * percent,
                received_per_s=249.9 * percent,
                capacity_per_s=25000.0,
                copies=750 * percent,
                negative=0,
                mean_s=Interval(2e-4 + wait, 1.9e-4 + wait, 2.1e-4 + wait),
                percentiles=tuple(
                    Percentile(
                        rank,
                        Interval(*((2e-4 + wait * k) * end for end in (1, 0.95, 1.06))),
                        4e-5 * k,
                        late if rank >= 99 else "",
                    )
                    for rank, k in ((50, 0.7), (90, 2.3), (99, 4.6), (99.9, 6.9))
                ),
                waiting_s=wait * 1.1,
                predicted_waiting_s=wait if arrivals == "poisson" else None,
                model="B of this cell's flow from the fit of replication",
                status=Status.OK,
                reason="",
            )


CLAIMS = (
    Claim(
        "20260101T000000000Z-study",
        "activemq",
        "today",
        "4.1",
        "largest overall throughput with 10 subscribers against 1",
        "ratio 1.82",
        "ratio 1.79 (1.71 to 1.88); 76,100/s and 42,500/s",
        ClaimVerdict.REPRODUCED,
        "the interval of the ratio lies above 1",
        ("p20-m001", "p20-m010"),
    ),
    Claim(
        "20260101T000000000Z-study",
        "activemq",
        "today",
        "4.2",
        "correlation id filters are slightly faster than property filters",
        "no figure printed",
        "ratio 0.97 (0.95 to 0.99)",
        ClaimVerdict.NOT_REPRODUCED,
        "the interval of the ratio lies below 1",
        ("correlation-m010", "property-m010"),
    ),
    Claim(
        "20260101T000000000Z-study",
        "activemq",
        "today",
        "4.5",
        "B is linear in r up to r = 10, and t_tx / t_fltr = 94",
        "94",
        "",
        ClaimVerdict.NOT_DECIDABLE,
        "this grid has one replication grade",
        (),
    ),
)


def study(
    *, run="20260101T000000000Z-study", brokers=("activemq",), starts=1, factor=1.0, path="results/study", seed=1
):
    """The whole study, its models fitted by the real fit."""
    rng = np.random.default_rng(seed)
    cells = [one for broker in brokers for one in replication_cells(rng, broker, starts, factor)]
    cells = [*cells, *(one for one in other_cells() if "activemq" in brokers)]
    cells = [replace(one, key=replace(one.key, run=run)) for one in cells]
    fits, _ = fit.fits(cells)
    fits = tuple(
        replace(
            one,
            points=one.points or fitted_points(one, cells),
            roofline=Roofline(one.parameters, Interval(1.1e-5, 1.0e-5, 1.2e-5), ("f0000-r040",), -3.1, preferred=False),
            constrained=Constrained({name: i.estimate for name, i in one.parameters.items()}, 3.4e-5),
            leave_one_out=LeaveOneOut(0.008, 0.031, "f4960-r040"),
            variation=Variation(0.011, 0.018 if starts > 1 else None),
        )
        for one in fits
    )
    audits = tuple(CellAudit(one.key, 90_000, LaneAudit(expected=180_000, delivered=180_000)) for one in cells)
    return RunResult(
        run=run,
        path=path,
        title=("grid today, profile today, 1 start", *(f"{broker}: ActiveMQ Classic 5.18.3" for broker in brokers)),
        measures=True,
        audit=AuditResult(run, audits, ()),
        cells=tuple(cells),
        fits=fits,
        host=tuple(
            HostUse(run, broker, 1, 842.0, 940 * 2**20, 130 * 2**20, 8 * 2**30, 0, 1.2e5, 9.8e7) for broker in brokers
        ),
        findings=(
            Finding(
                "cells left out",
                f"{len(DOUBTFUL)} of {len(cells)} cells of replication",
                "every cell saturated and steady",
                "see the reason of each; measure again with more windows",
            ),
            Finding(
                "one start",
                "the intervals hold within one start",
                "at least 3 starts for intervals between starts",
                "measure with --starts 3",
            ),
            Finding(
                "idle broker before the run",
                "2.6% of its CPU set",
                "at most 2.0%",
                "look for what else it does",
                VerdictKind.UNVERIFIED,
                "activemq",
            ),
        ),
        claims=CLAIMS,
        latency=tuple(latencies()),
    )

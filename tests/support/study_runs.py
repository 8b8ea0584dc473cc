"""A whole study as a result in memory: every experiment with a figure, latency, claims, cells that are not `ok`.

Everything is made by hand, from TIMES: no file, no audit and no fit is asked, so that a test of what is shown knows
what there is to be shown.
"""

from dataclasses import replace

import numpy as np

from analysis.results import CellKey, Claim, Finding, Interval
from analysis.throughput.results import (
    AuditResult,
    CellAudit,
    CellDeviation,
    Description,
    Excluded,
    FitResult,
    FittedCell,
    Grade,
    HalfWidth,
    HostUse,
    LackOfFit,
    LatencyResult,
    Percentile,
    Roofline,
    RoundLevel,
    RunResult,
    Scope,
    Variation,
)
from tests.support.fit_cells import cell_summary, window
from tests.support.run_directories import broker_facts, preset_options, study_manifest
from workloads.status import CellStatus, ClaimVerdict, VerdictKind
from workloads.throughput.lanes import LaneAudit

#: t_rcv, t_fltr, t_tx in s.
TIMES = (3.0e-5, 2.0e-8, 9.0e-6)

RUN = "20260101T000000000Z-study"

LAYOUTS, ROUNDS, SLICE_S = 8, 2, 0.4

#: Rounds (layout, round) in which a neighbour was busy, and how much slower they were.
BUSY = {(3, 2): 0.24, (4, 1): 0.27}

FURTHER = (0, 160, 640, 2560, 4960)
REPLICATION = (1, 2, 5, 10, 20, 40)

#: Cells of the replication experiment that missed a limit, and how.
DOUBTFUL = {
    (0, 1): (CellStatus.NOT_SATURATED, "broker CPU 91% of its set, at least 95% are needed"),
    (640, 40): (CellStatus.UNSTEADY, "its queues grew: 97% of the copies came"),
}


def name_of(further, replication):
    return f"f{further:04d}-r{replication:03d}"


def level(layout, number):
    """How much slower a round is than the median one: two of a hundred or so, and what BUSY says."""
    return BUSY.get((layout, number), 0.02 * ((layout * 5 + number * 3) % 5 - 2) / 2)


def slices(seconds, place, cells, layouts=LAYOUTS):
    """A slice in each round of each layout, a round being `cells` slices long; the cell is at `place` in them."""
    for layout in range(1, layouts + 1):
        for number in range(1, ROUNDS + 1):
            before = (layout - 1) * ROUNDS + number - 1
            begin = 10**12 + round((before * cells + place) * 1.5 * SLICE_S * 1e9) + layout * 3 * 10**9
            received = round(SLICE_S / (seconds * (1 + level(layout, number))))
            place_of = {"layout": layout, "round": number, "position": place, "in_flight": 100}
            yield window(0, begin, SLICE_S, received, **place_of)


def around(estimate, share):
    """An interval of this half-width, relative."""
    return Interval(estimate, estimate * (1 - share), estimate * (1 + share))


def cell(experiment, name, factors, n_fltr, r, seconds, *, broker="activemq", start=1, place=0, cells=30, **changes):
    """A cell that took `seconds` per message."""
    received = around(1 / seconds, 0.015)
    times = [
        Interval(*(end * copies for end in (received.estimate, received.low, received.high))) for copies in (r, r + 1)
    ]
    values = {
        "factors": factors,
        "n_fltr": n_fltr,
        "replication": float(r),
        "fits_model": experiment == "replication",
        "received_per_s": received,
        "dispatched_per_s": times[0],
        "overall_per_s": times[1],
        "processing_s": around(seconds, 0.015),
        "replicates_s": (seconds,) * LAYOUTS,
        "mean_processing_s": seconds * 1.03,
        "broker_cpu": 0.99,
        "gc_share": 0.021,
        "compiler_share": 0.004,
        "load_cpu": 0.31,
        "load_us_per_delivery": 2.9,
        "conservation": 1.0004,
        "windows": tuple(slices(seconds, place, cells)),
        "layouts": LAYOUTS,
    }
    return cell_summary(CellKey(RUN, broker, start, experiment, name), **(values | changes))


def rounds(broker="activemq", starts=1, cells=30):
    """The levels of all rounds."""
    for start in range(1, starts + 1):
        for layout in range(1, LAYOUTS + 1):
            for number in range(1, ROUNDS + 1):
                before = (layout - 1) * ROUNDS + number - 1
                yield RoundLevel(
                    run=RUN,
                    broker=broker,
                    start=start,
                    layout=layout,
                    block=0,
                    round=number,
                    begin_s=before * cells * 1.5 * SLICE_S + layout * 3,
                    slices=cells,
                    level=level(layout, number),
                    disturbed=level(layout, number) > 0.1,
                    gc_share=0.02 + 0.001 * number,
                    compiler_share=0.004,
                    stolen_share=0.002,
                )


def replication_cells(rng, broker="activemq", starts=1, factor=1.0, further=FURTHER, replication=REPLICATION):
    places = [(f, r) for f in further for r in replication]
    for start in range(1, starts + 1):
        for place, at in enumerate(rng.permutation(len(places))):
            f, r = places[at]
            status, reason = DOUBTFUL.get((f, r), (CellStatus.OK, ""))
            yield cell(
                "replication",
                name_of(f, r),
                {"further": f, "replication": r},
                f + r,
                r,
                plane(f + r, r) * factor * float(np.exp(0.012 * rng.standard_normal())),
                broker=broker,
                start=start,
                place=place,
                cells=len(places),
                status=status,
                reason=reason,
            )


def plane(n_fltr, r, times=TIMES):
    return times[0] + n_fltr * times[1] + r * times[2]


def fitted(cells, **changes):
    """A fit of these cells of one broker whose parameters are TIMES, as many times slower as the cells are."""
    used = [one for one in cells if one.status == CellStatus.OK and one.key.start == 1]
    out = [one for one in cells if one.status != CellStatus.OK]
    factor = float(np.median([one.processing_s.estimate / plane(one.n_fltr, one.replication) for one in used]))
    times = [time * factor for time in TIMES]
    widths = dict(zip(NAMES, (0.065, 0.057, 0.038), strict=True))
    points = tuple(
        FittedCell(
            one.key.cell,
            one.n_fltr,
            one.replication,
            one.processing_s,
            fitted_s := plane(one.n_fltr, one.replication, times),
            Interval(*(end / fitted_s - 1 for end in (one.processing_s.estimate, *one.processing_s.ci95))),
        )
        for one in used
    )
    starts = {one.key.start for one in cells}
    largest = sorted(points, key=lambda point: -abs(point.deviation.estimate))
    parameters = {name: around(time, widths[name]) for name, time in zip(NAMES, times, strict=True)}
    values = {
        "run": cells[0].key.run,
        "broker": cells[0].key.broker,
        "experiment": cells[0].key.experiment,
        "profile": "today",
        "starts": len(starts),
        "scope": Scope.THESE_STARTS,
        "parameters": parameters,
        "per_start": {start: tuple(times) for start in sorted(starts)},
        "ols_as_in_paper": dict(zip(NAMES, times, strict=True)),
        "cells_used": tuple(point.cell for point in points),
        "cells_excluded": tuple(Excluded(one.key.cell, one.key.start, f"{one.status}: {one.reason}") for one in out),
        "lack_of_fit": LackOfFit(1.7, 0.04, abs(largest[0].deviation.estimate)),
        "findings": (),
        "points": points,
        "degrees": LAYOUTS - 1,
        "roofline": Roofline(parameters, Interval(1.1e-5, 1.0e-5, 1.2e-5), ("f0000-r040",), -3.1, preferred=False),
        "variation": Variation(0.034, 0.011, 0.018 if len(starts) > 1 else None),
        "description": Description(Grade.GOOD, (CellDeviation(largest[0].cell, largest[0].deviation),), 0.013),
        "precision": {name: HalfWidth(width, 0.15, holds=True) for name, width in widths.items()},
        "layouts": LAYOUTS * len(starts),
    }
    return FitResult(**(values | changes))


NAMES = ("t_rcv", "t_fltr", "t_tx")


def other_cells():
    """The experiments of sections 4.1 to 4.4, with numbers of a plausible shape."""
    t_rcv, t_fltr, t_tx = TIMES
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
            status=CellStatus.NOT_SATURATED if idle else CellStatus.OK,
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
                key=CellKey(RUN, "activemq", 1, "latency", f"u{percent:02d}-{arrivals}"),
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
                status=CellStatus.OK,
                reason="",
            )


CLAIMS = (
    Claim(
        RUN,
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
        RUN,
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
        RUN,
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


def study(*, run=RUN, brokers=("activemq",), starts=1, factor=1.0, path="results/study", seed=1):
    """The whole study; of its replication there is a model."""
    rng = np.random.default_rng(seed)
    of_brokers = {broker: list(replication_cells(rng, broker, starts, factor)) for broker in brokers}
    cells = [one for of_broker in of_brokers.values() for one in of_broker]
    cells = [*cells, *(one for one in other_cells() if "activemq" in brokers)]
    cells = [replace(one, key=replace(one.key, run=run)) for one in cells]
    fits = tuple(replace(fitted(of_broker), run=run) for of_broker in of_brokers.values())
    levels = tuple(replace(one, run=run) for broker in brokers for one in rounds(broker, starts))
    audits = tuple(CellAudit(one.key, 90_000, LaneAudit(expected=180_000, delivered=180_000)) for one in cells)
    return RunResult(
        run=run,
        path=path,
        title=("grid today, profile today, 1 start", *(f"{broker}: ActiveMQ Classic 5.18.3" for broker in brokers)),
        measures=True,
        manifest=study_manifest(options=preset_options(), brokers={broker: broker_facts() for broker in brokers}),
        audit=AuditResult(run, audits, ()),
        cells=tuple(cells),
        fits=fits,
        rounds=levels,
        host=tuple(
            HostUse(run, broker, 1, 842.0, 940 * 2**20, 130 * 2**20, 8 * 2**30, 0, 1.2e5, 9.8e7) for broker in brokers
        ),
        findings=(
            Finding(
                "cells left out",
                f"{len(DOUBTFUL)} of {len(cells)} cells of replication",
                "every cell saturated and steady",
                "see the reason of each; measure again with more layouts",
            ),
            Finding(
                "one start",
                "the intervals hold for this start",
                "at least 5 starts for intervals between starts",
                "measure with --starts 5",
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


def small(**changes):
    """A run of the quick grid's replication on one broker, in which everything is right."""
    cells = tuple(
        replace(one, status=CellStatus.OK, reason="")
        for one in replication_cells(np.random.default_rng(2), further=(0, 160, 640, 2560), replication=(1, 2, 5, 10))
    )
    whole = study()
    values = {
        "title": ("grid quick, profile today, loop delivery, 1 start", "activemq: ActiveMQ Classic 5.18.3, jars"),
        "cells": cells,
        "fits": (fitted(cells, roofline=None),),
        "rounds": tuple(rounds(cells=16)),
        "findings": (),
        "claims": (),
        "latency": (),
        "manifest": study_manifest(options=preset_options(), brokers={"activemq": broker_facts()}),
    }
    return replace(whole, **(values | changes))

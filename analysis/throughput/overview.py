"""Summary of a run for first-time users: results -> short sentences.

What was measured, what it costs the broker, the verdict, how well the model describes it, what to do next.
`closing_screen` lays it out for a terminal and the report for its first page; all details are in the tables and in
the report. Numbers are only formatted here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.formats import count, ends, estimated, half_width, span, us
from analysis.intervals import units_needed
from analysis.results import Claim
from analysis.table import Table, TableColumn, grouped
from analysis.text import Closing, NextStep
from analysis.throughput.console import AUDIT_VERDICTS, VERDICTS, nowhere
from analysis.throughput.cost_model import PAPER, processing_time_s
from analysis.throughput.fit import STARTS_AS_UNIT, bend
from analysis.throughput.results import (
    BrokerComparison,
    CellSummary,
    FitResult,
    Grade,
    LatencyResult,
    RoundLevel,
    RunResult,
    Scope,
    formula,
)
from analysis.throughput.tables import (
    GRADES,
    SCOPES,
    deviation,
    is_of_replays,
    meanings,
    negligible,
    relative_half_width,
    unit,
)
from workloads.command_line import analysing, measuring
from workloads.limits import EXTRAPOLATION, LAYOUTS
from workloads.manifest import StudyManifest
from workloads.status import CellStatus, ClaimVerdict, VerdictKind
from workloads.throughput.presets import PRESETS

#: The example that illustrates the times: its copies/s, and subscribers per message (besides a single subscriber).
COPIES_PER_S, SUBSCRIBERS = 100_000, 10

#: Cells of an experiment without a model that are shown, the fastest and the slowest.
MOST_CELLS = 8

#: Beyond this number of layouts, further starts of the broker narrow the intervals more.
MOST_LAYOUTS = 2 * PRESETS["quick"].looks[-1]

#: Layouts to ask for where there were too few for an interval.
ENOUGH_LAYOUTS = 2 * round(LAYOUTS.limit)

#: Largest number of experiments that a command names; for more it selects all.
MOST_NAMED = 4

#: Filters and copies per message of the suggested prediction.
FILTERS, COPIES = 100, 3

_WORDS = {1: "one", 10: "ten"}

SOURCE = "Henjes et al. 2006, ActiveMQ 4.0 on a 3.2 GHz CPU"

_RANKS = (50, 99)


@dataclass(frozen=True, slots=True)
class ModelOverview:
    """Summary of a fit."""

    title: str
    formula: str
    #: the parameters: name, meaning, time in us, interval, half-width, and the time of Henjes et al. 2006
    costs: Table
    note: str
    #: a sentence for each negligible cost
    negligible: tuple[str, ...]
    #: empty where the times must not be used
    example: str
    description: str
    worst: str


@dataclass(frozen=True, slots=True)
class ExperimentOverview:
    """Summary of an experiment without a model."""

    #: the summary in a line
    said: str
    #: its fastest and slowest cells
    cells: Table | None = None
    #: the number of cells not shown, as text
    more: str = ""


@dataclass(frozen=True, slots=True)
class RunOverview:
    """The content of the closing screen."""

    #: brokers, then experiments with their numbers and the run's options
    measured: tuple[str, ...]
    closing: Closing
    models: tuple[ModelOverview, ...]
    #: comparisons of further brokers with the first
    besides: tuple[str, ...]
    #: experiments without a model
    experiments: tuple[ExperimentOverview, ...]
    #: claims of the paper: a summary line, then a line each
    claims: tuple[str, ...]


def overview(result: RunResult) -> RunOverview:
    """The summary of a run; for a smoke grid, of its audit only."""
    meaning = (VERDICTS if result.measures else AUDIT_VERDICTS)[result.verdict]
    return RunOverview(
        measured=tuple(_measured(result)),
        closing=Closing(result.verdict, meaning, _reason(result), _step(result)),
        models=tuple(_model(fit, result) for fit in result.fits),
        besides=tuple(line for comparison in result.comparisons for line in _besides(comparison)),
        experiments=tuple(_experiments(result)) if result.measures else (),
        claims=tuple(_claims(result.claims)),
    )


def _measured(result: RunResult) -> Iterator[str]:
    """The brokers, then the experiments with their numbers and the run's options."""
    options, *brokers = result.title or ("",)
    if len(brokers) > 1:
        yield f"{len(brokers)} brokers: {'; '.join(brokers)}"
    else:
        yield from brokers
    cells = {(cell.key.experiment, cell.key.cell) for cell in result.cells}
    experiments = {experiment for experiment, _ in cells}
    named = " ".join(experiments) if len(experiments) == 1 else count(len(experiments), "experiment")
    rounds = _layouts_said(result.rounds) + _looks_said(result.manifest)
    said = f"{named}, {count(len(cells), 'cell')}{rounds and f' in {rounds}'}" if cells else "nothing was measured"
    yield f"{said}; {options}"


def _layouts_said(rounds: Sequence[RoundLevel]) -> str:
    """`8 layouts x 2 rounds`, of each start."""
    if not rounds:
        return ""
    layouts = Counter((broker, start) for broker, start, _ in {(r.broker, r.start, r.layout) for r in rounds})
    of_block = Counter((r.broker, r.start, r.layout, r.block) for r in rounds)
    return f"{span(layouts.values())} layouts x {span(of_block.values())} rounds"


def _looks_said(manifest: StudyManifest) -> str:
    """` (2 of 4 looks)`: how many each start needed; empty where nothing was decided."""
    taken = Counter((look.broker, look.start) for look in manifest.looks)
    planned = len(manifest.options.get("looks", []))
    return f" ({span(taken.values())} of {planned} looks)" if taken else ""


def _reason(result: RunResult) -> str:
    """The most severe finding; of a valid run, the evidence for it."""
    gravest = [finding for finding in result.every_finding if finding.consequence == result.verdict]
    if result.verdict == VerdictKind.VALID or not gravest:
        return _evidence(result)
    more = len(gravest) - 1
    others = f" ({count(more, 'more reason')} in the report)" if more else ""
    return f"because {gravest[0].reason}{others}"


def _evidence(result: RunResult) -> str:
    said = f"because all {result.audit.copies.expected:,} copies arrived once, in order"
    widths = [precision for fit in result.fits for precision in fit.precision.values()]
    if widths and all(width.holds for width in widths):
        said += f"; every interval is within +-{max(width.limit for width in widths):.0%}"
        said += ", or its cost negligible" if any(width.negligible for width in widths) else ""
    remarks = len(result.every_finding)
    return said + (f"; {count(remarks, 'remark')}" if remarks else "")


def _model(fit: FitResult, result: RunResult) -> ModelOverview:
    filters = "n_fltr filters and " if "t_fltr" in fit.parameters else ""
    title = f"{fit.experiment} on {fit.broker}"
    model = f"time per message {formula(fit.parameters)}, with {filters}r copies"
    if is_of_replays(fit):
        model = f"time per replay {formula(fit.parameters)}, of r retained messages"
    return ModelOverview(
        title=title,
        formula=model,
        costs=_costs(fit, f"{title}: {model}"),
        note=f"intervals {SCOPES[fit.scope]}{'' if is_of_replays(fit) else f'; paper: {SOURCE}'}",
        negligible=tuple(negligible(fit)),
        example=_example(fit, _cpus(result, fit.broker)),
        description="" if fit.description is None else f"model: {fit.description.grade} - {_graded(fit)}",
        worst=_worst(fit),
    )


def _costs(fit: FitResult, caption: str) -> Table:
    meaning = meanings(fit)
    return Table.of(
        caption,
        fit.parameters.items(),
        TableColumn("time", lambda of: of[0], number=False),
        TableColumn("of", lambda of: meaning[of[0]], number=False),
        TableColumn("time in µs", lambda of: us(of[1].estimate, 3)),
        TableColumn("95 % interval", lambda of: ends(of[1], us, 3)),
        TableColumn("half-width", lambda of: relative_half_width(fit, of[0])),
        *(TableColumn("paper, 2006", lambda of: us(PAPER[of[0]])) for _ in range(not is_of_replays(fit))),
    )


def _graded(fit: FitResult) -> str:
    """The meaning of the grade, and the number of cells."""
    left_out = len({cell.cell for cell in fit.cells_excluded})
    words = GRADES[fit.description.grade] if fit.description else ""
    return f"{words} ({count(len(fit.cells_used), 'cell')}{f', {left_out} left out' if left_out else ''})"


def _worst(fit: FitResult) -> str:
    if fit.description is None or not fit.description.worst:
        return ""
    first = fit.description.worst[0]
    said = f"largest deviation {first.cell} {deviation(first.deviation)}"
    bent = "" if fit.description.grade == Grade.GOOD else bend(fit.points)
    return said + (f"; {bent}" if bent else "")


def _cpus(result: RunResult, broker: str) -> int | None:
    """The size of the broker's CPU set; None where it is not known."""
    cpus = result.manifest.brokers[broker].cpus
    return len(cpus) if cpus else None


def _example(fit: FitResult, cpus: int | None) -> str:
    """The load that COPIES_PER_S put on the broker with one subscriber per message and with several; empty where the
    times must not be used, are not those of copies to subscribers, or do not extend to that number of them."""
    if is_of_replays(fit):
        return ""
    if fit.verdict == VerdictKind.INVALID or (fit.description and fit.description.grade == Grade.POOR):
        return ""
    cap = fit.roofline if fit.roofline and fit.roofline.preferred else None
    times = {name: time.estimate for name, time in (cap.parameters if cap else fit.parameters).items()}
    t_sat_s = cap.t_sat_s.estimate if cap else 0.0
    largest = max((point.replication for point in (*fit.points, *(cap.points if cap else ()))), default=0)
    many = SUBSCRIBERS if largest * EXTRAPOLATION.limit >= SUBSCRIBERS else max(1, int(largest))
    said: list[str] = []
    for subscribers in dict.fromkeys((1, many)):
        plane_s = processing_time_s(times, subscribers if "t_fltr" in times else 0, subscribers)
        share = max(plane_s, subscribers * t_sat_s) * COPIES_PER_S / subscribers * (cpus or 1)
        if share <= 0:
            return ""
        unit = "" if said else " CPU cores" if cpus else " times what it can do"
        each = "" if said else " subscriber per message"
        said.append(f"{_amount(share)}{unit} at {_WORDS.get(subscribers, subscribers)}{each}")
    return f"{COPIES_PER_S:,} copies/s take {', '.join(said)}{f' (it had {cpus})' if cpus else ''}"


def _besides(comparison: BrokerComparison) -> Iterator[str]:
    """A line per further broker: the conclusions about its coefficients."""
    for broker in dict.fromkeys(row.broker for row in comparison.coefficients if row.broker != comparison.against):
        said = [
            f"{row.what} {row.words.partition(' [')[0]}"
            for row in comparison.coefficients
            if row.broker == broker and row.words
        ]
        words = ", ".join(said) or "no conclusion"
        yield f"{broker} vs {comparison.against}, {comparison.experiment}: {words}"


def _experiments(result: RunResult) -> Iterator[ExperimentOverview]:
    """Experiments without a model, then those not applicable to a broker."""
    modelled = {(fit.experiment, fit.broker, fit.profile) for fit in result.fits}
    times = grouped(result.latency, unit)
    for of_unit, cells in grouped((cell for cell in result.cells if unit(cell) not in modelled), unit).items():
        title = f"{of_unit[0]} on {of_unit[1]}, {count(len(cells), 'cell')}"
        yield _latencies(title, times[of_unit]) if of_unit in times else _processing(title, cells)
    for line in nowhere(result.cells, result.not_applicable):
        yield ExperimentOverview(line)


def _processing(title: str, cells: Sequence[CellSummary]) -> ExperimentOverview:
    """The fastest and the slowest usable cells, in us per message."""
    counted = [cell for cell in cells if cell.status == CellStatus.OK]
    timed = sorted(
        ((cell.processing_s.estimate, cell) for cell in counted if cell.processing_s and not cell.open_loop),
        key=lambda pair: pair[0],
    )
    out = len(cells) - len(counted)
    left_out = f"; {out} not ok, the report says why" if out else ""
    if not timed:
        return ExperimentOverview(f"{title}: no number{left_out}")
    (fast_s, fast), (slow_s, slow) = timed[0], timed[-1]
    said = f"{title}: {us(fast_s, 3)} us per message ({fast.key.cell})"
    said += f" to {us(slow_s, 3)} us ({slow.key.cell})" if slow is not fast else ""
    said += left_out
    every = [cell for _, cell in timed]
    half = MOST_CELLS // 2
    shown = every if len(every) <= MOST_CELLS else [*every[:half], *every[-half:]]
    between = len(every) - len(shown)
    return ExperimentOverview(
        said,
        Table.of(
            said,
            shown,
            TableColumn("cell", lambda cell: cell.key.cell, number=False),
            TableColumn(
                "µs per message", lambda cell: us(cell.processing_s.estimate if cell.processing_s else None, 3)
            ),
            TableColumn("half-width", lambda cell: half_width(cell.processing_s)),
            TableColumn("received/s", lambda cell: estimated(cell.received_per_s)),
            TableColumn("delivered/s", lambda cell: estimated(cell.dispatched_per_s)),
        ),
        f"and {count(between, 'cell')} between these, in the report" if between else "",
    )


def _latencies(title: str, found: Sequence[LatencyResult]) -> ExperimentOverview:
    """The smallest and the largest load: median and 99th percentile."""
    usable = [cell for cell in found if cell.status == CellStatus.OK]
    if not usable:
        return ExperimentOverview(f"{title}: no usable latency, the report says why")
    ends = dict.fromkeys((min(usable, key=lambda cell: cell.percent), max(usable, key=lambda cell: cell.percent)))
    said = []
    for cell in ends:
        ranks = ", ".join(
            f"p{percentile.rank:g} {percentile.latency_s.estimate * 1e3:.3g} ms"
            for percentile in cell.percentiles
            if percentile.rank in _RANKS
        )
        said.append(f"{ranks} at {cell.percent} % load")
    return ExperimentOverview(f"{title}: {'; '.join(said)}")


def _claims(claims: Sequence[Claim]) -> Iterator[str]:
    """The number of claims with each verdict, then each claim, decided ones first."""
    if not claims:
        return
    counts = Counter(claim.verdict for claim in claims)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ClaimVerdict if counts[verdict])
    yield f"claims of the paper: {said}"
    for claim in sorted(claims, key=lambda claim: claim.verdict == ClaimVerdict.NOT_DECIDABLE):
        yield f"{claim.verdict}: {claim.claim} ({claim.broker})"


def _step(result: RunResult) -> NextStep:
    """The most useful next step: look at what was lost, measure better, or use the result."""
    if result.audit.verdict == VerdictKind.INVALID:
        return NextStep("see which messages went wrong, and in which cell", analysing("audit"), of_run=True)
    if not result.measures:
        return NextStep("measure; a smoke grid shows correctness only", _again(result, "--grid quick"))
    return _use(result) if result.verdict == VerdictKind.VALID else _better(result)


def _use(result: RunResult) -> NextStep:
    """A prediction at about half of the broker's capacity; without a usable model, the tables."""
    modelled = [fit for fit in result.fits if not is_of_replays(fit)]
    usable = [fit for fit in modelled if fit.description is not None and fit.description.grade != Grade.POOR]
    if not usable:
        words = "see what each cell took" if result.fits else "see all tables"
        return NextStep(words, analysing("summary"), of_run=True)
    points = usable[0].points
    n_fltr = min(FILTERS, max((point.n_fltr for point in points), default=0))
    copies = min(COPIES, max((math.floor(point.replication) for point in points), default=1))
    times = {name: time.estimate for name, time in usable[0].parameters.items()}
    taken_s = processing_time_s(times, n_fltr, copies)
    rate = f" --rate {float(f'{0.5 / taken_s:.1g}'):.0f}" if taken_s > 0 else ""
    return NextStep(
        "ask what your own load takes: filters, subscribers per message, messages/s",
        analysing(f"predict --n-fltr {n_fltr} --replication {copies}{rate}"),
        of_run=True,
    )


def _better(result: RunResult) -> NextStep:
    """A longer measurement where an interval was too wide, otherwise the advice of the most severe finding."""
    more = _longer(result) if result.verdict == VerdictKind.UNVERIFIED else ""
    if not more:
        gravest = [finding for finding in result.every_finding if finding.consequence == result.verdict]
        return NextStep(gravest[0].advice if gravest else "measure again", _again(result))
    return NextStep("measure longer, for narrower intervals", _again(result, more))


def _longer(result: RunResult) -> str:
    """The option with which every coefficient's interval is within its limit, by the square root law; empty where all
    are within it."""
    wide = [(fit, width) for fit in result.fits for width in fit.precision.values() if not width.holds]
    if not wide:
        return ""
    starts = [
        units_needed(fit.starts, width.half_width, width.limit)
        for fit, width in wide
        if fit.scope == Scope.BETWEEN_STARTS and width.half_width is not None
    ]
    if starts:
        return f"--starts {max(starts)}"
    layouts = [
        ENOUGH_LAYOUTS if width.half_width is None else units_needed(fit.layouts, width.half_width, width.limit)
        for fit, width in wide
    ]
    needed = max([*layouts, ENOUGH_LAYOUTS])
    if result.manifest.options.get("precision"):
        return f"--max-layouts {needed}"
    return f"--starts {STARTS_AS_UNIT}" if needed > MOST_LAYOUTS else f"--layouts {needed}"


def _again(result: RunResult, more: str = "") -> str:
    """The command that measures these experiments again."""
    options = result.manifest.options
    experiments = list(dict.fromkeys(cell.key.experiment for cell in result.cells))
    words = [measuring("microbench")]
    if 0 < len(experiments) <= MOST_NAMED:
        chosen = " or ".join(experiments)
        words += ["-k", f'"{chosen}"' if " " in chosen else chosen]
    brokers = list(dict.fromkeys(cell.key.broker for cell in result.cells))
    words += [f"--broker {broker}" for broker in brokers if brokers != ["activemq"]]
    words += [
        f"--{name} {value}"
        for name, usual in _USUAL.items()
        if (value := options.get(name, usual)) != usual and f"--{name}" not in more
    ]
    words += [f"--{name} {value}" for name, value in _own_level(options).items() if f"--{name}" not in more]
    return " ".join([*words, *([more] if more else [])])


def _own_level(options: Mapping[str, Any]) -> dict[str, str]:
    """The options by which the run differs from the preset of its grid; none for a grid from a file."""
    level, precision = PRESETS.get(options.get("grid", "")), options.get("precision")
    if level is None:
        return {}
    usual = {"rounds": level.rounds, "slice-seconds": level.slice_s, "warmup-seconds": level.warm_up_s}
    given = {name: options.get(name.replace("-", "_"), value) for name, value in usual.items()}
    own = {name: f"{value:g}" for name, value in given.items() if value != usual[name]}
    planned = level.looks[:1] if options.get("starts", 1) > 1 else level.looks
    looks = tuple(options.get("looks", planned))
    if looks != planned:
        own["layouts" if len(looks) == 1 else "max-layouts"] = f"{looks[-1]}"
    return own | ({"precision": f"{100 * precision:g}%"} if precision else {})


#: Default values of a run's options.
_USUAL: Mapping[str, object] = {"grid": "quick", "profile": "today", "loop": "delivery", "client": "bulk", "starts": 1}


def _amount(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"

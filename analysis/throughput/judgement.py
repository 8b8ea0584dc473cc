"""From slices to models and doubts: what decides the verdict of a run, and a look at a start while it is measured.

Needs neither Spark nor statsmodels, since a broker is live at a look. What only the finished run can tell (latencies,
the claims of the paper, swapping) is added by `analysis.throughput.pipeline`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import hypot

from analysis.errors import DataError
from analysis.intervals import units_needed
from analysis.results import CellKey, Finding
from analysis.table import grouped
from analysis.throughput import aggregate, run_checks
from analysis.throughput.fit import STARTS_AS_UNIT, fits, too_few_layouts
from analysis.throughput.reader import Life, ThroughputRecord
from analysis.throughput.results import CellSummary, FitResult, HostUse, RoundLevel
from analysis.throughput.rotation import StartEstimate
from workloads.limits import CELL_PRECISION, LAYOUTS
from workloads.schema import Window
from workloads.status import CellStatus, VerdictKind


@dataclass(frozen=True, slots=True)
class Estimates:
    """What follows from the slices of a run."""

    #: by start
    starts: Mapping[Life, StartEstimate]
    cells: tuple[CellSummary, ...]
    rounds: tuple[RoundLevel, ...]
    fits: tuple[FitResult, ...]
    #: broker and reason of each model that the cells do not allow
    refused: tuple[tuple[str, DataError], ...]


def estimated(
    run: ThroughputRecord,
    windows: Mapping[CellKey, Sequence[Window]],
    exact: AbstractSet[CellKey],
    lossy: AbstractSet[CellKey] = frozenset(),
) -> Estimates:
    """Estimates cells, rounds and models.

    exact: the cells of which every copy arrived once and in order
    lossy: those of which copies are missing where the protocol promises no more
    """
    starts = aggregate.estimated(run, windows)
    cells = aggregate.summarise(run, windows, exact, starts, lossy)
    models, errors = fits(cells, run.options.precision)
    return Estimates(
        starts,
        cells,
        aggregate.round_levels(run, windows, starts),
        models,
        tuple((broker, error) for (_, broker, *_), error in errors.items()),
    )


def doubts(
    run: ThroughputRecord,
    windows: Mapping[CellKey, Sequence[Window]],
    found: Estimates,
    host: Sequence[HostUse] = (),
) -> Iterator[Finding]:
    """Doubts about the run; those about a single model are in its fit."""
    yield from aggregate.findings(run, found.cells)
    yield from run_checks.findings(run, windows, found.starts, found.rounds, host)
    for broker, error in found.refused:
        yield _refusal(broker, error, found.cells)
    yield from _imprecise_cells(found.cells, found.fits)


def _refusal(broker: str, error: DataError, cells: Sequence[CellSummary]) -> Finding:
    """A missing model makes the run invalid if cells were left out, but not if too few cells were asked for."""
    left_out = any(cell.status != CellStatus.OK for cell in cells if cell.key.broker == broker and cell.fits_model)
    return Finding(
        what="no model",
        measured=str(error),
        limit="usable cells that identify the parameters, and one more",
        advice="use the cells without a model",
        consequence=VerdictKind.INVALID if left_out else VerdictKind.VALID,
        broker=broker,
    )


def _imprecise_cells(cells: Sequence[CellSummary], models: Sequence[FitResult]) -> Iterator[Finding]:
    """Experiments without a model whose cells have no interval, or too wide ones; a fit has findings of its own.

    Open loops and cells with a load shape of their own are left out: what they are asked is no time per message.
    """
    modelled = {(model.broker, model.experiment) for model in models}
    usable = (cell for cell in cells if cell.status == CellStatus.OK)
    for (broker, experiment), of_experiment in grouped(
        usable, lambda cell: (cell.key.broker, cell.key.experiment)
    ).items():
        if (broker, experiment) in modelled:
            continue
        fewest = min(cell.layouts for cell in of_experiment)
        by_start = len({cell.key.start for cell in of_experiment}) >= STARTS_AS_UNIT
        if not by_start and fewest < LAYOUTS.limit:
            yield too_few_layouts(broker, experiment, fewest)
            continue
        half_widths = _half_widths(of_experiment)
        wide = {name: half_width for name, half_width in half_widths.items() if half_width > CELL_PRECISION.limit}
        if wide:
            worst = max(wide, key=lambda name: wide[name])
            yield Finding(
                what=f"{experiment}: intervals of {len(wide)} cells are too wide",
                measured=f"+-{wide[worst]:.0%} of B in {worst}",
                limit=f"+-{CELL_PRECISION.limit:.0%}, 95 % interval",
                advice=f"--layouts {units_needed(fewest, wide[worst], CELL_PRECISION.limit)}, or more --starts",
                consequence=VerdictKind.UNVERIFIED,
                broker=broker,
                open_point=f"{experiment} {worst} +-{wide[worst]:.0%} (limit {CELL_PRECISION.limit:.0%})",
            )


def _half_widths(cells: Sequence[CellSummary]) -> dict[str, float]:
    """Half-width of the interval of B of each cell in a closed loop of the run's own shape, relative to B; of the mean
    over its starts."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        taken = cell.processing_s
        if cell.pace is None and not cell.open_loop and taken and taken.low is not None and taken.high is not None:
            found.setdefault(cell.key.cell, []).append((taken.high - taken.low) / 2 / taken.estimate)
    return {name: hypot(*of_starts) / len(of_starts) for name, of_starts in found.items()}

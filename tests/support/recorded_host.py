"""A restless host that was recorded once (tests/data/restless_host.csv), as noise for simulated runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from analysis.throughput import rotation
from workloads.throughput.presets import PRESETS

FILE = Path(__file__).parents[1] / "data" / "restless_host.csv"

#: Length of a stretch of consecutive rounds, s: least and most.
STRETCH_S = (20.0, 120.0)

#: Measured part of a slice, s.
MEASURED_S = PRESETS["quick"].slice_s


@dataclass(frozen=True, slots=True)
class RecordedHost:
    """What was recorded, in rounds of 12 cells in the order of their names."""

    #: index of the cell by position in the round
    order: npt.NDArray[np.int_]
    #: ln of the time per message outside pauses, less that of the cell over the whole record
    noise: npt.NDArray[np.float64]
    #: share of the CPU that the broker used: what it lacks to 1 was stolen, since the broker was saturated
    broker_cpu: npt.NDArray[np.float64]
    #: of a round, s
    round_s: float

    def drawn(self, rng: np.random.Generator, rounds: int) -> list[int]:
        """Rounds of the record: stretches of consecutive ones, drawn with replacement, until there are enough."""
        found: list[int] = []
        while len(found) < rounds:
            length = round(rng.uniform(*STRETCH_S) / self.round_s)
            begin = int(rng.integers(0, len(self.noise) - length + 1))
            found += range(begin, begin + length)
        return found[:rounds]

    def scatter(self, *, without_stolen: bool) -> tuple[float, float]:
        """Standard deviation of the slices, and their 99th percentile; relative to their cells.

        without_stolen: less the time stolen in their layouts, two rounds each, as a run corrects it
        """
        noise = self.noise
        if without_stolen:
            stolen = np.clip(1 - self.broker_cpu, 0, None).reshape(-1, 2 * noise.shape[1]).mean(axis=1)
            noise = noise + np.log1p(-stolen).repeat(2)[:, None]
        return float(noise.std()), float(np.expm1(np.quantile(noise, 0.99)))

    def slices(
        self, rng: np.random.Generator, cells: Sequence[rotation.Ordered], times_s: Sequence[float], layouts: int
    ) -> list[rotation.MeasuredSlice]:
        """Layouts of two rounds of the quick grid, whose cells take `times_s` per message where nothing disturbs."""
        made = []
        for index, row in enumerate(self.drawn(rng, 2 * layouts)):
            for position, cell in enumerate(self.order[row]):
                running_s = times_s[cell] * float(np.exp(self.noise[row, cell]))
                messages = max(1, round(MEASURED_S / running_s))
                made.append(
                    rotation.MeasuredSlice(
                        cell=cells[cell],
                        layout=1 + index // 2,
                        block=0,
                        round=1 + index % 2,
                        position=position,
                        taken_s=messages * running_s,
                        messages=messages,
                        gc_pause_s=0.0,
                        full_gc_pause_s=0.0,
                    )
                )
        return made


@cache
def recorded_host() -> RecordedHost:
    """The record."""
    with FILE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    names = [name.removeprefix("noise_") for name in rows[0] if name.startswith("noise_")]
    lasted_s = (int(rows[-1]["begin_ms"]) - int(rows[0]["begin_ms"])) / 1e3
    return RecordedHost(
        order=np.array([[names.index(name) for name in row["order"]] for row in rows]),
        noise=np.array([[int(row[f"noise_{name}"]) for name in names] for row in rows]) / 1e4,
        broker_cpu=np.array([[int(row[f"cpu_{name}"]) for name in names] for row in rows]) / 1e3,
        round_s=lasted_s / (len(rows) - 1),
    )

"""Searches for the highest load in a made-up world: no broker runs, and a rule says which probes pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.errors import BrokerError
from fixtures.session import search_run
from fixtures.session.scenario_run import PlannedCase, PlannedCases, ScenarioSettings
from fixtures.session.scheduled_run import RunOrder
from fixtures.session.search_run import SearchRun, TrialVerdict
from workloads.schedule import Slot


@dataclass
class World:
    """Runs of which `passes` says whether their audit passes, by what was planned and the settings."""

    results: Path
    passes: Callable[[PlannedCase, ScenarioSettings], bool]
    #: First BASE at which the broker dies.
    dies_above: int = 10**6
    #: Whether a probe that fails leaves messages in a broker that the suite did not start.
    foreign: bool = False
    said: list[str] = field(default_factory=list)
    #: What ran, in its order.
    ran: list[tuple[PlannedCase, ScenarioSettings]] = field(default_factory=list)
    closed: PlannedCase | None = None

    def search(
        self, patch: pytest.MonkeyPatch, cases: Sequence[PlannedCase], settings: ScenarioSettings
    ) -> tuple[SearchRun, list[Slot]]:
        """The searches of these cases, and their slots."""
        world = self

        class Run:
            """A probe."""

            def __init__(self, order: RunOrder, _rows: Any, cells: PlannedCases, settings: ScenarioSettings) -> None:
                ((_, self.planned),) = cells.items()
                assert [slot.cell for slot in order.slots] == [self.planned.cell]
                self.run_directory = order.results / f"run-{len(world.ran)}"
                self.run_directory.mkdir()
                world.ran.append((self.planned, settings))

            def perform(self, _slot: Slot) -> None:
                if self.planned.base > world.dies_above:
                    raise BrokerError("the broker's process has ended\nThe end of its log: ...")

            def unusable(self, _slot: Slot) -> str:
                return "the broker still holds messages: purge it" if world.foreign else ""

            def close(self, *, interrupted: bool = False) -> None:
                assert not interrupted
                world.closed = self.planned

        def verdict(_path: Path) -> TrialVerdict:
            planned, settings = world.ran[-1]
            assert world.closed == planned
            passed, base = world.passes(planned, settings), planned.base
            why = "" if passed else "delivery time, SM1 orderConf"
            return TrialVerdict(passed, why, "valid", base * 14.3, base * 17.3, 0.5)

        patch.setattr(search_run, "ScenarioRun", Run)
        patch.setattr(search_run, "verdict", verdict)
        slots = [Slot("made-up", 1, planned.case.workload, planned.cell) for planned in cases]
        cells = {(slot.experiment, slot.cell): planned for slot, planned in zip(slots, cases, strict=True)}
        progress: Any = SimpleNamespace(log=self.said.append)
        spec: Any = SimpleNamespace(label="made-up")
        return SearchRun(RunOrder([spec], slots, {}, self.results, progress), {}, cells, settings), slots

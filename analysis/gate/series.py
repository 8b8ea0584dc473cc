"""Gates in a row: what each changed, and how each candidate compares with the first baseline, by chained ratios.

A ladder of releases and a nightly series are both this. Ratios multiply, so gates of `A` against `B` and of `B` against
`C` tell of `A` against `C`; their errors are taken as independent: half-widths of logarithms add in squares.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from analysis.atomic import written_whole
from analysis.formats import NOTHING
from analysis.gate.results import ratio_json
from analysis.gate.tables import change, changes
from analysis.results import Interval
from analysis.table import Table, TableColumn

#: The beginning of a run's name: when it was created, in UTC.
_CREATED = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)")

#: The ratios of a gate: against its own baseline, and against the first one.
_RATIOS = ("ratios", "chained")

#: The first value of a series.
_SAME = Interval(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class ComparedRelease:
    """A gate of a series."""

    #: Name of its run.
    run: str
    baseline: str
    broker: str
    verdict: str
    #: candidate / baseline, by family; None where there is no ratio.
    ratios: Mapping[str, Interval | None]
    #: candidate / first baseline of the series, by family; None where the gates before do not lead there.
    chained: Mapping[str, Interval | None]


def series(gates: Sequence[Mapping[str, Any]]) -> tuple[ComparedRelease, ...]:
    """The gates of a history, oldest first, with their ratios to the first baseline."""
    levels: dict[tuple[str, str], Interval | None] = {}
    found = []
    for gate in gates:
        ratios = ratios_of(gate)
        chained = {}
        for name, ratio in ratios.items():
            start = levels.get((gate["baseline"], name), _SAME if gate["baseline"] == gates[0]["baseline"] else None)
            chained[name] = None if start is None or ratio is None else _product(start, ratio)
            if gate["broker"] != gates[0]["baseline"]:
                levels[gate["broker"], name] = chained[name]
        found.append(ComparedRelease(gate["run"], gate["baseline"], gate["broker"], gate["verdict"], ratios, chained))
    return tuple(found)


def ratios_of(gate: Mapping[str, Any]) -> dict[str, Interval | None]:
    """candidate / baseline, by family, of a gate of a history; None where there is no ratio."""
    return {name: _ratio(family) for name, family in gate["families"].items()}


def _ratio(family: Mapping[str, Any]) -> Interval | None:
    if family["ratio"] is None:
        return None
    return Interval(family["ratio"], *(family["ci95"] or (None, None)))


def _product(one: Interval, other: Interval) -> Interval:
    estimate = one.estimate * other.estimate
    if None in (one.low, one.high, other.low, other.high):
        return Interval(estimate)
    below, above = (
        math.hypot(*(math.log(getattr(each, end) / each.estimate) for each in (one, other))) for end in ("low", "high")
    )
    return Interval(estimate, estimate * math.exp(-below), estimate * math.exp(above))


def tables(compared: Sequence[ComparedRelease]) -> Iterator[Table]:
    """What each gate changed, and all since the first baseline."""
    families = list(dict.fromkeys(name for each in compared for name in each.ratios))
    candidate: TableColumn[ComparedRelease] = TableColumn("candidate", lambda of: of.broker, number=False)
    yield Table.of(
        "Change of the time per message against each baseline, with 95 % intervals",
        compared,
        candidate,
        TableColumn("baseline", lambda of: of.baseline, number=False),
        *(TableColumn(name, partial(_changed, "ratios", name)) for name in families),
        TableColumn("verdict", lambda of: of.verdict, number=False),
        keys=2,
    )
    if compared and len({each.baseline for each in compared}) > 1:
        yield Table.of(
            f"The same against {compared[0].baseline}, by chained ratios",
            compared,
            candidate,
            *(TableColumn(name, partial(_changed, "chained", name)) for name in families),
        )


def _changed(field: str, family: str, compared: ComparedRelease) -> str:
    ratio: Interval | None = getattr(compared, field).get(family)
    return NOTHING if ratio is None else f"{change(ratio.estimate)} ({changes(ratio)})"


def series_json(compared: Sequence[ComparedRelease]) -> dict[str, Any]:
    """The gates as one JSON object."""
    return {
        "gates": [
            {name: getattr(each, name) for name in ("run", "baseline", "broker", "verdict")}
            | {field: {name: ratio_json(ratio) for name, ratio in getattr(each, field).items()} for field in _RATIOS}
            for each in compared
        ]
    }


def csv_text(compared: Sequence[ComparedRelease]) -> str:
    """A table of comma-separated values, as tools that search series for changes read them.

    A row per gate, oldest first: `time` (UTC), `run`, `baseline`, `broker`, and for each family the candidate's time
    per message relative to that of the first baseline; empty where it is unknown.
    """
    families = list(dict.fromkeys(name for each in compared for name in each.chained))
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("time", "run", "baseline", "broker", *families))
    for each in compared:
        values = (each.chained.get(name) for name in families)
        known = ("" if value is None else f"{value.estimate:.6g}" for value in values)
        rows.writerow((_created(each.run), each.run, each.baseline, each.broker, *known))
    return text.getvalue()


def _created(run: str) -> str:
    created = _CREATED.match(run)
    return "{}-{}-{}T{}:{}:{}+00:00".format(*created.groups()) if created else ""


def write_csv(path: Path, compared: Sequence[ComparedRelease]) -> None:
    """Raises DataError where the file cannot be written."""
    with written_whole(path, "table of a history's gates", "name another --history") as file:
        file.write(csv_text(compared).encode())

"""Results that are stored with their run, so that a question about it is answered without computing them again.

They are believed only where everything that they follow from is what it was when they were stored: the files of the
run, by their content, and the source of the suite. A file that was changed is not believed either. Whoever asks is told
for each run which it was.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from analysis.atomic import written_whole
from analysis.errors import DataError
from analysis.record_reading import from_text
from analysis.run_description import kind_of, resolve_runs
from workloads.json_value import json_value
from workloads.schema import TABLES_OF

#: Packages whose source decides what follows from a record.
_SOURCE = ("analysis", "workloads")

#: Tells the user a line.
Tell: TypeAlias = Callable[[str], Any]


class StoredResult(Protocol):
    """What a result has to have."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def path(self) -> Path | str:
        """Its run directory."""


ResultT = TypeVar("ResultT", bound=StoredResult)


@dataclass(frozen=True, slots=True)
class Shelf(Generic[ResultT]):
    """Where the results of one kind are stored in a run directory."""

    file: str
    record: type[ResultT]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """What stored results follow from."""

    #: Name of the run, which is in its results.
    run: str
    #: Only the complete parts of the run were read.
    partial: bool
    #: Digest of the files of the run.
    files: str
    #: Digest of the suite's source.
    suite: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredFile:
    """The content of a file with results."""

    origin: _Origin
    #: Of the origin and the results.
    digest: str
    results: msgspec.Raw


def said(line: str) -> None:
    """Tells the user on standard error, which leaves the answer alone."""
    sys.stderr.write(f"{line}\n")


def answered(
    paths: Sequence[Path],
    shelf: Shelf[ResultT],
    compute: Callable[[Sequence[Path]], Iterable[ResultT]],
    *,
    partial: bool,
    recompute: bool = False,
    tell: Tell = said,
) -> tuple[ResultT, ...]:
    """The results of these runs, or of the newest, in their order: those that are stored, and the others computed.

    compute: computes the results of runs; they are stored where the directory can be written
    partial: as given to `compute`
    recompute: use no stored result
    """
    kind = kind_of(paths)
    runs = resolve_runs(paths)
    origins = {
        folder: _Origin(run=name, partial=partial, files=_files(folder, TABLES_OF[kind]), suite=_suite())
        for folder, _, name in runs
    }
    found: dict[Path, tuple[ResultT, ...]] = {}
    missing: dict[Path, str] = {}
    for folder, shown, _ in runs:
        results = "--recompute" if recompute else _stored(folder, shelf, origins[folder])
        if isinstance(results, str):
            missing[shown] = results
        else:
            found[folder] = results
    for result in compute([*missing]) if missing else ():
        folder = Path(result.path)
        found[folder] = (*found.get(folder, ()), result)
    for folder, shown, _ in runs:
        why = missing.get(shown)
        if why is None:
            tell(f"{shown}: from the analysis stored with the run")
            continue
        tell(f"{shown}: computed anew: {why}")
        try:
            _store(folder, shelf, origins[folder], found[folder])
        except DataError as error:
            tell(f"{shown}: not stored: {error}")
    return tuple(result for folder, _, _ in runs for result in found[folder])


def _stored(folder: Path, shelf: Shelf[ResultT], origin: _Origin) -> tuple[ResultT, ...] | str:
    """The results that are stored with a run; otherwise why there are none to be believed."""
    try:
        stored = from_text(_StoredFile, (folder / shelf.file).read_bytes(), shelf.file)
        if stored.digest != _digest(stored.origin, bytes(stored.results)):
            return f"{shelf.file} was changed after it was written"
        if why := _differs(stored.origin, origin):
            return why
        results = from_text(tuple[shelf.record, ...], bytes(stored.results), shelf.file)  # type: ignore[name-defined]
        return tuple(replace(result, path=type(result.path)(folder)) for result in results)
    except FileNotFoundError:
        return "no analysis is stored with the run"
    except (OSError, DataError):
        return f"{shelf.file} is damaged"


def _differs(stored: _Origin, now: _Origin) -> str:
    """In what the stored results do not fit; empty where they do. A complete run has complete parts only."""
    if stored.run != now.run:
        return f"the run was called {stored.run} when it was analysed"
    if stored.files != now.files:
        return "the files of the run have changed since it was analysed"
    if stored.suite != now.suite:
        return "another version of the suite analysed it"
    return "only its complete parts were analysed" if stored.partial and not now.partial else ""


def _store(folder: Path, shelf: Shelf[ResultT], origin: _Origin, results: tuple[ResultT, ...]) -> None:
    """Raises DataError where the results cannot be stored."""
    try:
        text = json.dumps(json_value(results), allow_nan=False, default=str).encode()
    except ValueError as error:
        raise DataError(f"{error}; each answer is computed anew") from error
    stored = _StoredFile(origin=origin, digest=_digest(origin, text), results=msgspec.Raw(text))
    with written_whole(folder / shelf.file, "analysis", "each answer is computed anew") as file:
        file.write(msgspec.json.encode(stored))


def _digest(origin: _Origin, results: bytes) -> str:
    return blake2b(json.dumps(asdict(origin)).encode() + results, digest_size=16).hexdigest()


def _files(folder: Path, tables: Iterable[str]) -> str:
    """Digest of the files that an analysis reads."""
    parts = [file for table in tables for file in sorted((folder / table).glob("*.parquet"))]
    return _content(folder, [folder / "manifest.json", folder / "plan.json", *parts])


@cache
def _suite() -> str:
    """Digest of the source: a checkout changes without a new version."""
    root = Path(__file__).resolve().parents[1]
    return _content(root, [file for package in _SOURCE for file in sorted((root / package).rglob("*.py"))])


def _content(root: Path, files: Iterable[Path]) -> str:
    """Digest of the names and contents of files; what cannot be read counts as empty."""
    found = blake2b(digest_size=16)
    for file in files:
        found.update(f"{file.relative_to(root)}\n".encode())
        with suppress(OSError), file.open("rb") as content:
            found.update(file_digest(content, "blake2b").digest())
    return found.hexdigest()

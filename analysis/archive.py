"""A run directory as a single file, for checking or repeating the run elsewhere: `<run directory>.tar.gz` next to it.

It contains everything that the run recorded: options and host (manifest), plan, configuration and log of each
broker, console output, tables of all periods, disclosure and report. The same directory gives the same bytes.
"""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from analysis.atomic import written_whole
from analysis.errors import DataError

#: Compression level; the tables are compressed already, and are by far the largest part.
_LEVEL = 1


def pack(run: Path) -> Path:
    """Packs a run directory completely, or leaves no file; returns the archive's path.

    Excluded are links, and unfinished files (their names begin with a dot, or end in `.partial`). Member names begin
    with the name of the directory; owners are not recorded. It contains no secrets, since a run directory never does.
    Raises DataError where `run` is not a run directory, or where the archive cannot be written.
    """
    folder = run.resolve()
    if not (folder / "manifest.json").is_file():
        raise DataError(f"{run}: no manifest.json; expected a run directory, such as results/latest")
    target = folder.with_name(f"{folder.name}.tar.gz")
    with written_whole(target, "archive", "make room next to the run directory") as file:
        _write(file, folder)
    return target


def _write(file: IO[bytes], folder: Path) -> None:
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in _files(folder):
            archive.add(path, f"{folder.name}/{path.relative_to(folder).as_posix()}", recursive=False, filter=_plain)


def _files(folder: Path) -> Iterator[Path]:
    """In the order of their names."""
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts):
        inside = path.relative_to(folder).parts
        unfinished = any(name.startswith(".") for name in inside) or path.suffix == ".partial"
        if path.is_file() and not path.is_symlink() and not unfinished:
            yield path


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without machine-specific metadata: names and ids of owners, permissions, fractions of seconds."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    entry.mtime = int(entry.mtime)
    return entry

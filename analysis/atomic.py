"""Files that are complete or absent: written under another name, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from analysis.errors import DataError


@contextmanager
def written_whole(path: Path, what: str, advice: str) -> Iterator[IO[bytes]]:
    """A file that replaces `path` at the end of the block; until then, readers see the old file, or none.

    An error inside the block leaves no new file. Raises DataError with the advice where `what` cannot be written.
    """
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                yield cast("IO[bytes]", file)
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink()
                raise
    except OSError as error:
        raise DataError(f"{path}: the {what} cannot be written: {error.strerror}; {advice}") from error

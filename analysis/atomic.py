"""Files that are complete or absent: written under another name, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast


@contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """What is written takes the path's place at the end: who reads meanwhile sees the old file, or none.

    Where it is left by an error nothing stays. Raises OSError where the folder cannot be written.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            yield cast("IO[bytes]", file)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink()
            raise

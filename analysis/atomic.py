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
    """A file that replaces `path` at the end of the block; until then, readers see the old file, or none.

    An error inside the block leaves no new file. Raises OSError where the folder cannot be written.
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

"""What the JVM of a Spark session writes to its standard error, which is a user's as well."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

#: Far longer than a line takes from the JVM to the file.
LIMIT_S = 60.0


class JvmErrors:
    """What a JVM has written to this file, which was this process's standard error when it was started."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read = 0

    def lines(self, jvm: Any) -> list[str]:
        """The lines since the last call. `jvm` is that of Py4J, which writes one more, behind them."""
        last = f"{uuid4()}\n"
        jvm.java.lang.System.err.print(last)
        end = time.monotonic() + LIMIT_S
        while not (said := self.file.read_text(encoding="utf-8")[self._read :]).endswith(last):
            if time.monotonic() > end:
                raise TimeoutError(f"the JVM does not write to {self.file}: {said}")
            time.sleep(0.01)
        self._read += len(said)
        return said.removesuffix(last).splitlines()


@contextmanager
def standard_error_to(file: Path) -> Iterator[None]:
    """Also that of processes which are started meanwhile."""
    own = os.dup(2)
    try:
        with file.open("wb", buffering=0) as written:
            os.dup2(written.fileno(), 2)
            yield
    finally:
        os.dup2(own, 2)
        os.close(own)

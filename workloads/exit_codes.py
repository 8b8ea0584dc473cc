"""The exit codes of a session and of `python -m analysis`, in one table, and which of several counts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What a caller does next depends on it. From 2 to 6 pytest's own codes keep their meaning in a session."""

    #: What was asked for was done, and nothing speaks against it.
    OK = 0
    #: A regression was shown, or an audit failed: look at the broker.
    SHOWN = 1
    #: Of `python -m analysis`: it cannot answer what was asked; pytest refuses options with 4.
    REFUSED = 2
    #: Nothing was shown, neither for the broker nor against it: worth a retry.
    CONTAMINATED = 10
    #: There is no result: the broker, the load or the host failed, or what was measured could not be judged.
    UNMEASURED = 11


#: Of several that hold, the first counts: what was shown stays shown, whatever else could not be measured.
PRECEDENCE = (ExitCode.SHOWN, ExitCode.UNMEASURED, ExitCode.CONTAMINATED)


def first_of(codes: Iterable[ExitCode]) -> ExitCode:
    """The code that counts; OK where there is none of those above."""
    found = set(codes)
    return next((code for code in PRECEDENCE if code in found), ExitCode.OK)

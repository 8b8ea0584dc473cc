"""How the suite's commands are typed: in a checkout, or by the one command of an installation.

Every text that names a command to type next gets it from here.
"""

from __future__ import annotations

import os

#: Environment variable in which the command of an installation states how it was called.
VARIABLE = "BROKERBENCH_COMMAND"


def program(of_checkout: str) -> str:
    """A program of the checkout, or the command of an installation, which stands for all of them."""
    return os.environ.get(VARIABLE) or of_checkout


def measuring(words: str) -> str:
    """A command that measures; `words` begin with the folder of what is measured."""
    return f"{program('pytest')} {words}"


def analysing(words: str) -> str:
    """A command that reads run directories; `words` begin with the verb."""
    return f"{program('python -m analysis')} {words}"

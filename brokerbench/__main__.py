"""`python -m brokerbench`: the command, also in a checkout."""

import sys

from brokerbench.command import main

if __name__ == "__main__":
    sys.exit(main())

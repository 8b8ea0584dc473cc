"""A plugin of sessions that tests start: what they wait for is short, and they know nothing of each other.

Named on their command line with -p.
"""

from __future__ import annotations

from fixtures.session import broker_start, measuring_marks

broker_start.IDLE_WINDOW_S = 0.1
#: Where nothing can be written: tests run side by side, on the same CPUs.
measuring_marks.FOLDER = "/dev/null/none"

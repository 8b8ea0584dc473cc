"""A plugin of sessions that tests start: what they wait for is short, and they know nothing of each other.

What their slices say of the costs does not matter, so that these are as long as asked for, behind a short warm-up.
Named on their command line with -p.
"""

from __future__ import annotations

from functools import partial

from fixtures.load.throughput import layout_run
from fixtures.session import broker_start, measuring_marks, options, throughput_start

broker_start.IDLE_WINDOW_S = 0.1
#: Where nothing can be written: tests run side by side, on the same CPUs.
measuring_marks.FOLDER = "/dev/null/none"

throughput_start.WARMING_S = 0.1  # type: ignore[attr-defined]
layout_run.FEWEST_MESSAGES, layout_run.LONGER_FOR_IN_FLIGHT = 20, 1
# How long copies are awaited that a broker has lost, behind each slice and at a layout's end.
layout_run.SILENCE_S = 0.3
options.LoadSettings = partial(options.LoadSettings, last_silence_s=2.0)  # type: ignore[attr-defined, misc]

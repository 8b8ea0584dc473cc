"""A plugin of sessions that tests start: what they wait for is short, and they know nothing of each other.

What their slices say of the costs does not matter, so that these are as long as asked for, behind a short warm-up. A
verdict on a study or a gate is that of their few rows, for which no Spark is started. Named on their command line with
-p.
"""

from __future__ import annotations

from functools import partial

import pytest

from fixtures.load.throughput import layout_run, slice_sizes
from fixtures.session import broker_start, measuring_marks, options, throughput_start
from tests.support import quick_jvms

quick_jvms.use()
broker_start.IDLE_WINDOW_S = 0.1
#: Where nothing can be written: tests run side by side, on the same CPUs.
measuring_marks.FOLDER = "/dev/null/none"

throughput_start.WARMING_S = 0.1  # type: ignore[attr-defined]
slice_sizes.FEWEST_MESSAGES, slice_sizes.LONGER_FOR_IN_FLIGHT = 20, 1
# How long copies are awaited that a broker has lost, behind each slice and at a layout's end.
layout_run.SILENCE_S = 0.3
options.LoadSettings = partial(options.LoadSettings, last_silence_s=2.0)  # type: ignore[attr-defined, misc]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The items that judge are no functions. What they need is imported when all has been measured, as ever."""
    if not isinstance(item, pytest.Function):
        from analysis.gate import pipeline as of_gates
        from analysis.throughput import pipeline
        from tests.support import without_spark

        pipeline.analysed, of_gates.judged = without_spark.analysed, without_spark.judged

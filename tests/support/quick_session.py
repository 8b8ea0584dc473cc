"""A plugin of sessions that tests start: what they wait for is short. Named on their command line with -p."""

from __future__ import annotations

from fixtures.session import broker_start

broker_start.IDLE_WINDOW_S = 0.1

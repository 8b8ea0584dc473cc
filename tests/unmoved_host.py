"""A pytest plugin for measurements of a broker that keeps its own time: the host's speed does not count against them.

The suite's reference broker charges B by its own clock, whatever the host does; windows in slow spells of a shared
host are as good as others. For real brokers they are not, and nothing but a test may load this.
"""

from fixtures.load.measure import HostSpeed


def pytest_configure() -> None:
    HostSpeed.deviates = lambda _self, _speed_ns: False

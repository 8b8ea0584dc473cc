"""Brokers on a JVM that tests start: as users have them, but without what pays after minutes of load only."""

from fixtures.brokers import jvm

#: Without the second compiler ActiveMQ starts with 2.3 s of CPU time instead of 3.4, and does the same.
FLAGS = ("-XX:TieredStopAtLevel=1",)


def use() -> None:
    """For all that this process starts from now on."""
    flags = jvm.flags
    jvm.flags = lambda options: (*flags(options), *FLAGS)

"""What one side of MQTT has written, as packets."""

from __future__ import annotations

from fixtures.wire.mqtt.codec import complete, decode


def packets(spoken, data):
    """The packets that the data consist of.

    spoken: has the version
    """
    found, at = [], 0
    while (extent := complete(data, at)) is not None:
        begin, end = extent
        found.append(decode(data[at], data[begin:end], spoken.version))
        at = end
    assert at == len(data)
    return found

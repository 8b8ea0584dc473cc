"""What one side of MQTT has written, as packets."""

from __future__ import annotations

from fixtures.wire.mqtt.codec import complete, decode


def packets(spoken, data):
    """The packets that the data consist of.

    spoken: has the version
    """
    found, rest = decoded(data, spoken.version)
    assert rest == b""
    return found


def decoded(data, version):
    """All packets of these bytes, and the rest."""
    found, at = [], 0
    while (extent := complete(data, at)) is not None:
        begin, end = extent
        found.append(decode(data[at], data[begin:end], version))
        at = end
    return found, data[at:]

"""What AMQP 1.0 says in bytes, as records."""

from __future__ import annotations

from fixtures.wire.amqp10.frames import complete, decode_frame


def records(data):
    """The records, with their payloads; headers left out."""
    found, at = [], 0
    while at < len(data):
        if data.startswith(b"AMQP", at):
            at += 8
            continue
        end = complete(data, at)
        value, begin = decode_frame(data, at, end)
        found.append((value, data[begin:end]))
        at = end
    return found

"""The same flow through stomp.py, with its own threads: what the engine's cost per message is compared with.

Run as a process of its own by `tests.bench_engine`, so that its CPU time is all of its work. Every
subscriber is a connection with a listener that counts, every publisher a connection; one thread sends
while fewer copies are under way than the credit allows. Nothing is checked, which favours stomp.py.
"""

from __future__ import annotations

import json
import os
import sys
import time

import stomp  # type: ignore[import-untyped]

PUBLISHERS, IN_FLIGHT = 20, 1000
MARK = "~" + 35 * "0"  # as long as the engine's stamp, so that the messages are the same


class _Counter(stomp.ConnectionListener):  # type: ignore[misc]
    def __init__(self) -> None:
        self.delivered = 0

    def on_message(self, _frame: object) -> None:
        self.delivered += 1


def main(port: str, login: str, replication: str, warm_up_s: str, window_s: str, cpu: str) -> None:
    """Prints one JSON object: CPU time and wall time in ns, and the messages and copies of the window."""
    os.sched_setaffinity(0, {int(cpu)})
    passcode = os.environ["STOMP_PASSCODE"]
    copies = int(replication)
    destination = f"/topic/bench.stomp-py-r{copies:03d}"

    def connection() -> stomp.Connection12:
        one = stomp.Connection12([("127.0.0.1", int(port))], heartbeats=(0, 0), auto_decode=False)
        one.connect(login, passcode, wait=True)
        return one

    listeners = [_Counter() for _ in range(copies)]
    subscribers = [connection() for _ in range(copies)]
    for number, (one, listener) in enumerate(zip(subscribers, listeners, strict=True)):
        one.set_listener("", listener)
        one.subscribe(destination, number, headers={"selector": "ID = '#0'"})
    publishers = [connection() for _ in range(PUBLISHERS)]
    time.sleep(1)

    sent = 0

    def delivered() -> int:
        return sum(listener.delivered for listener in listeners)

    def run(seconds: float) -> None:
        nonlocal sent
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            free = IN_FLIGHT - (sent - delivered() // copies)
            if free <= 0:
                time.sleep(0.001)
            for _ in range(min(free, 50)):
                publishers[sent % PUBLISHERS].send(destination, b"", headers={"ID": "#0", "Stamp": MARK})
                sent += 1

    run(float(warm_up_s))
    begin = time.monotonic_ns(), time.process_time_ns(), sent, delivered()
    run(float(window_s))
    end = time.monotonic_ns(), time.process_time_ns(), sent, delivered()
    wall_ns, cpu_ns, messages, got = (after - before for after, before in zip(end, begin, strict=True))
    print(json.dumps({"wall_ns": wall_ns, "cpu_ns": cpu_ns, "sent": messages, "delivered": got}), flush=True)
    os._exit(0)  # its connections' threads have nothing left to say


if __name__ == "__main__":
    main(*sys.argv[1:])

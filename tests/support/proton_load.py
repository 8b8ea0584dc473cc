"""A closed loop of clients of AMQP 1.0 by Apache Qpid Proton, as a measure for the load's own; nothing is checked.

Run by the system's Python with the address of a broker and options as JSON; prints load CPU per delivered message, us.
It imports nothing of the suite.
"""

import json
import os
import sys
import time

from proton import Message as ProtonMessage
from proton import symbol
from proton.handlers import MessagingHandler
from proton.reactor import AtLeastOnce, AtMostOnce, Container, LinkOption

ADDRESS = "bench-proton"


class OfTopic(LinkOption):
    """A link to or from a topic."""

    def apply(self, link):
        (link.source if link.is_receiver else link.target).capabilities.put_object(symbol("topic"))


class ProtonLoad(MessagingHandler):
    """Publishers and subscribers, each with a connection; as many messages are under way as there may be."""

    def __init__(self, url, options):
        super().__init__(prefetch=1000, auto_accept=not options["settled"])
        self.url, self.options = url, options
        self.senders, self.connections = [], []
        self.sent = self.received = self.begun = 0
        self.begin = self.end = 0.0
        self.message = ProtonMessage(body=b"x" * 36)

    def on_start(self, event):
        options = [AtMostOnce() if self.options["settled"] else AtLeastOnce(), OfTopic()]
        mechanisms = {"allowed_mechs": "PLAIN", "sasl_enabled": True, "reconnect": False}
        for number in range(self.options["replication"] + self.options["publishers"]):
            connection = event.container.connect(
                self.url, user=self.options["user"], password=self.options["password"], **mechanisms
            )
            self.connections.append(connection)
            if number < self.options["replication"]:
                event.container.create_receiver(connection, ADDRESS, options=options)
            else:
                # As the engine's publishers, without a confirmation.
                self.senders.append(
                    event.container.create_sender(connection, ADDRESS, options=[AtMostOnce(), OfTopic()])
                )
        self.container = event.container
        event.container.schedule(2.0, self)

    def on_timer_task(self, event):
        """The subscriptions stand; later the measurement begins, and ends."""
        if not self.end:
            self.end = time.monotonic() + 1.0 + self.options["seconds"]
            self.container.schedule(1.0, self)
            self.pump()
        elif not self.begin:
            self.begin, self.begun = time.process_time(), self.received
            self.container.schedule(self.options["seconds"], self)
        else:
            print(json.dumps((time.process_time() - self.begin) * 1e6 / (self.received - self.begun)))
            for connection in self.connections:
                connection.close()

    def on_message(self, event):
        self.received += 1
        if self.received % 100 == 0:
            self.pump()

    def on_sendable(self, event):
        if self.end:
            self.pump()

    def pump(self):
        while self.sent - self.received // self.options["replication"] < self.options["in_flight"]:
            sender = self.senders[self.sent % len(self.senders)]
            if not sender.credit:
                return
            sender.send(self.message)
            self.sent += 1


def main(url, options):
    os.sched_setaffinity(0, {options["cpu"]})
    Container(ProtonLoad(url, options)).run()


main(sys.argv[1], json.loads(sys.argv[2]))

"""A client of AMQP 1.0 by another implementation, Apache Qpid Proton, which Debian has for the system's own Python.

Run by that Python with the port of a broker; says as JSON what it heard. It imports nothing of the suite.
"""

import json
import sys

from proton import Message as ProtonMessage
from proton import ProtonException, symbol
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import AtLeastOnce, AtMostOnce, Container, LinkOption, Selector
from proton.utils import BlockingConnection

PATIENCE_S = 20


class Kind(LinkOption):
    """The capability by which a link says whether it leads to a topic or to a queue."""

    def __init__(self, kind):
        self.kind = kind

    def apply(self, link):
        (link.source if link.is_receiver else link.target).capabilities.put_object(symbol(self.kind))


class Transacted(MessagingHandler, TransactionHandler):
    """Sends a message in a transaction that is aborted, then one in a transaction that is committed."""

    def __init__(self, url):
        super().__init__()
        self.url, self.outcomes, self.bodies = url, [], ["aborted", "committed"]

    def on_start(self, event):
        self.container = event.container
        self.connection = event.container.connect(self.url, reconnect=False)
        self.sender = event.container.create_sender(self.connection, "tq", options=Kind("queue"))
        self.container.declare_transaction(self.connection, handler=self)

    def on_transaction_declared(self, event):
        self.transaction = event.transaction
        self.pump()

    def on_sendable(self, event):
        self.pump()

    def pump(self):
        if self.bodies and self.sender.credit and getattr(self, "transaction", None):
            body, transaction, self.transaction = self.bodies.pop(0), self.transaction, None
            transaction.send(self.sender, ProtonMessage(body=body.encode()))
            (transaction.commit if body == "committed" else transaction.abort)()

    def on_transaction_committed(self, event):
        self.outcomes.append("committed")
        self.connection.close()

    def on_transaction_aborted(self, event):
        self.outcomes.append("aborted")
        self.container.declare_transaction(self.connection, handler=self)

    def on_transport_error(self, event):
        self.outcomes.append(str(event.transport.condition))


def heard(receiver, count, *, accepted=True):
    bodies = []
    for _ in range(count):
        bodies.append(bytes(receiver.receive(timeout=PATIENCE_S).body).decode())
        if accepted:
            receiver.accept()
    return bodies


def main(url):
    found = {}
    one, other = (BlockingConnection(url, timeout=PATIENCE_S) for _ in range(2))
    selected = one.create_receiver("t", options=[Selector("P = 'a'"), Kind("topic"), AtMostOnce()], credit=10)
    plain = other.create_receiver("t", options=[Kind("topic"), AtLeastOnce()], credit=10)
    queue = one.create_receiver("q", options=[Kind("queue")], credit=2)
    to_topic, to_queue = (
        one.create_sender(name, options=Kind(kind)) for name, kind in (("t", "topic"), ("q", "queue"))
    )
    for number, value in enumerate("aba"):
        to_topic.send(ProtonMessage(body=b"%d" % number, properties={"P": value}, correlation_id="c"))
    for number in range(4):
        to_queue.send(ProtonMessage(body=b"%d" % number * 100, durable=True))
    found["selected"], found["plain"] = heard(selected, 2, accepted=False), heard(plain, 3)
    found["first"] = [body[:1] for body in heard(queue, 2)]
    queue.flow(1)
    found["left"] = [body[:1] for body in heard(queue, 1, accepted=False)]
    queue.close()
    again = other.create_receiver("q", options=[Kind("queue")], credit=10)
    found["again"] = [body[:1] for body in heard(again, 2)]
    transacted = Transacted(url)
    Container(transacted).run()
    found["outcomes"] = transacted.outcomes
    found["committed"] = heard(other.create_receiver("tq", options=[Kind("queue")], credit=1), 1)
    try:
        one.create_receiver("t", name="bad", options=[Selector("P = "), Kind("topic")])
        found["refused"] = None
    except ProtonException as error:
        found["refused"] = str(error)
    other.close()
    print(json.dumps(found))


main(sys.argv[1])

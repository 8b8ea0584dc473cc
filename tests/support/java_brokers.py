"""Brokers that tests start, and what those on a JVM share: an installation, jars."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.brokers import activemq, artemis, ivy, os_process_provider
from fixtures.brokers import registry as brokers
from fixtures.host import cpus
from tests.support.requirements import require_broker, require_prepared
from tests.support.stomp_peer import Talk

#: How the distributions of the products that have jars are laid out.
LAYOUTS = {"activemq": activemq.LAYOUT, "artemis": artemis.LAYOUT}


LAST_CPU = cpus.available_cpus()[-1:]


@contextmanager
def started(text, folder, provider=None, where=LAST_CPU):
    """A broker, on the last CPU unless others are named; skips the test where this machine cannot have it."""
    spec = brokers.parse(text, provider=provider)
    require_prepared(spec)
    broker = brokers.start(spec, folder, where)
    try:
        yield broker
    finally:
        broker.stop()


def exchange(broker, destination="/queue/exchange"):
    """One persistent message through it."""
    with Talk(broker.endpoint) as talk:
        talk.send(destination, b"body", persistent="true")
        talk.subscribe("1", destination)
        assert [frame.body for frame in talk.rest(1)] == [b"body"]


def folder_of(running):
    """The private folder of a broker's process."""
    return Path(f"/proc/{running.account.pid}/cwd").readlink()


def installed(text, home):
    """A directory laid out like the distribution's, of the real jars."""
    require_broker(text)
    spec = brokers.parse(text)
    product = next(product for product in brokers.PRODUCTS if product.name == spec.product)
    layout = LAYOUTS[product.name]
    for folder in layout.folders:
        (home / folder).mkdir(parents=True)
    for jar in ivy.class_path(os_process_provider.bundle(product, spec.version), print):
        (home / layout.folders[-1] / jar.name).symlink_to(jar)
    return home


@pytest.fixture(scope="module")
def jars():
    """The default ActiveMQ in the user's own cache, so that only the first test run downloads it."""
    require_broker("activemq")

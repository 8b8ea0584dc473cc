"""Which brokers the contract is held against: each product as each provider runs it, the suite's own, and one by URL.

One contract speaks STOMP, frame by frame; the other one the sessions of all protocols. The rows come from `PRODUCTS`,
so that a new broker is held to the contract by being there. What a machine lacks is found out when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import docker
import pytest

from fixtures import brokers
from fixtures.brokers import activemq, probe
from fixtures.brokers.product import PROTOCOL, Product
from fixtures.brokers.spec import Provider, Running
from fixtures.host import cpus
from fixtures.wire.protocols import PROTOCOLS
from fixtures.wire.stomp.client import Stomp
from tests.support import container_engine
from tests.support.java_brokers import LAYOUTS, installed
from tests.support.requirements import extra_missing, require_prepared

#: Those that start within a second, and that everybody may have.
SWIFT = {"mosquitto", "nats"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A broker as its user names it; by_url: started first, and then taken for one that runs already."""

    text: str
    provider: Provider | None = None
    by_url: bool = False
    #: Protocol that has to be chosen; empty for the broker's default.
    speaks: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, ("url" if self.by_url else "", self.text, self.provider or "")))


def stomp_of(product: Product) -> Stomp | None:
    """How a product is asked over STOMP; None if it does not speak it."""
    return next((offer.protocol for offer in product.offers if isinstance(offer.protocol, Stomp)), None)


#: Those that speak STOMP.
PRODUCTS = [product for product in brokers.PRODUCTS if stomp_of(product) is not None]


def parameters() -> list[object]:
    """Each product in its default and its newest version, and the suite's own broker, also by its URL; all else takes
    too long for CI.

    `make test` has the suite's own broker and ActiveMQ's default, `make test-brokers` the others: what is found of a
    broker by its URL is its row (test_probe.py), so that nothing else of the contract differs.
    """
    return [pytest.param(entry, id=str(entry), marks=_marks(entry, quick=quick)) for entry, quick in _entries()]


def of_protocols() -> list[object]:
    """Each product in its default version over each of its protocols but STOMP, and the suite's own broker over all.

    `make test` has the brokers that start within a second, `make test-brokers` the others.
    """
    found: list[object] = [
        pytest.param(Entry(f"reference:{PROTOCOL}={name}"), id=f"reference-{name}") for name in PROTOCOLS
    ]
    for product in brokers.PRODUCTS:
        for name in [offer.protocol.name for offer in product.offers if not isinstance(offer.protocol, Stomp)]:
            text = f"{product.name},{PROTOCOL}={name}" if len(product.offers) > 1 else product.name
            marks = [] if product.name in SWIFT else [pytest.mark.brokers]
            found.append(pytest.param(Entry(text, product.providers[0]), id=f"{product.name}-{name}", marks=marks))
    return found


def _marks(entry: Entry, *, quick: bool) -> list[pytest.MarkDecorator]:
    if not quick:
        return [pytest.mark.slow, pytest.mark.brokers]
    first = entry.text in {"reference", f"activemq:{activemq.PRODUCT.default_version}"} and not entry.by_url
    return [] if first else [pytest.mark.brokers]


def _chosen(product: Product) -> str:
    """What has to be said so that a product speaks STOMP."""
    return "" if isinstance(product.offers[0].protocol, Stomp) else Stomp.name


def _entries() -> Iterator[tuple[Entry, bool]]:
    for product in PRODUCTS:
        for provider in product.providers:
            seen = product.tested if provider is Provider.JARS else []
            names = [f"{product.name}:{version}" for version in seen] or [product.name]
            for name in names:
                often = {product.name, *(f"{product.name}:{each}" for each in (product.default_version, *seen[-1:]))}
                entry = Entry(name, provider, speaks=_chosen(product))
                yield entry, name in often and provider is product.providers[0]
    yield Entry("reference"), True
    yield Entry("reference", by_url=True), True
    for product in PRODUCTS:
        yield Entry(product.name, product.providers[0], by_url=True, speaks=_chosen(product)), False


def start(entry: Entry, folder: Path, stack: ExitStack) -> Running:
    """The broker, stopped by the stack; skips the test where this machine cannot have it."""
    text = entry.text
    if entry.provider is Provider.CONTAINER:
        text += f",image={_image(entry.text, stack)}"
    elif entry.provider is Provider.HOME and text in LAYOUTS:
        text += f",path={installed(text, folder / 'installation')}"
    if entry.speaks:
        text += f",{PROTOCOL}={entry.speaks}"
    spec = brokers.parse(text, provider=entry.provider)
    require_prepared(spec)
    running = brokers.start(spec, folder, cpus.available_cpus())
    stack.callback(running.stop)
    if not entry.by_url:
        return running
    endpoint = running.endpoint
    login = f"{quote(endpoint.login or '', '')}:{quote(endpoint.passcode or '', '')}"
    by_url = brokers.start(
        brokers.parse(f"stomp://{login}@{endpoint.host}:{endpoint.port}"), folder, cpus.available_cpus()
    )
    stack.callback(by_url.stop)
    declared = {name: getattr(running.capabilities, name) for name in probe.ASSUMED}
    return replace(by_url, capabilities=replace(by_url.capabilities, **declared))


def _image(product: str, stack: ExitStack) -> str:
    """An image of what this machine has, in a container engine of its own, which the environment then names."""
    if lacks := container_engine.lacks():
        extra_missing(lacks)
    require_prepared(brokers.parse(product))
    address = stack.enter_context(container_engine.engine())
    stack.enter_context(pytest.MonkeyPatch.context()).setenv("DOCKER_HOST", address)
    with closing(docker.DockerClient(address, timeout=60)) as client:
        container_engine.IMAGES[product](client, name := f"local/{product}:contract")
    return name

"""Which brokers the contract is held against: each product as each provider runs it, the suite's own, and one by URL.

The contract is asked by the sessions of all protocols; what is particular to STOMP is asked frame by frame. The rows
come from `PRODUCTS`, so that a new broker, or a further protocol of one, is held to the contract by being there. What a
machine lacks is found out when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import pytest

from fixtures.brokers import activemq, probe
from fixtures.brokers import registry as brokers
from fixtures.brokers.product import PROTOCOL, Product
from fixtures.brokers.spec import Provider, Running
from fixtures.host import cpus
from fixtures.wire.protocols import PROTOCOLS
from fixtures.wire.stomp.client import Stomp
from tests.support.java_brokers import LAYOUTS, installed
from tests.support.requirements import extra_missing, require_prepared

#: Those that start within a second, and that everybody may have.
SWIFT = {"mosquitto", "nats"}

#: Protocols that a broker speaks on the port of another one without being told to: a process serves both.
ON_THE_PORT_OF = {("artemis", "mqtt5"): "mqtt", ("hivemq", "mqtt5"): "mqtt", ("qpid", "amqp"): "amqp091"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A broker as its user names it.

    by_url: started first, and then taken for one that runs already
    process: what is started, if it is another protocol's and serves this one as well
    """

    text: str
    provider: Provider | None = None
    by_url: bool = False
    process: str | None = None
    #: Protocol that has to be chosen; empty for the broker's default.
    speaks: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, ("url" if self.by_url else "", self.text, self.provider or "")))


def stomp_of(product: Product) -> Stomp | None:
    """How a product is asked over STOMP; None if it does not speak it."""
    return next((offer.protocol for offer in product.offers if isinstance(offer.protocol, Stomp)), None)


#: Those that speak STOMP.
PRODUCTS = [product for product in brokers.PRODUCTS if stomp_of(product) is not None]


def of_stomp() -> list[object]:
    """Each product in its default and its newest version, and the suite's own broker, also by its URL; all else takes
    too long for CI.

    `make test` has the suite's own broker and ActiveMQ's default, `make test-brokers` the others: what is found of a
    broker by its URL is its row (test_probe.py), so that nothing else of the contract differs.
    """
    return [pytest.param(entry, id=str(entry), marks=_marks(entry, quick=quick)) for entry, quick in _entries()]


def of_protocols() -> list[object]:
    """Each product in its default version over each protocol, and the suite's own broker.

    `make test` has of these the brokers that start within a second and ActiveMQ over STOMP, `make test-brokers` the
    others. All else takes too long for CI: of the newest versions and of a broker by its URL the contract of STOMP asks
    more, frame by frame.
    """
    found: list[object] = [
        pytest.param(entry, id=str(entry), marks=_marks(entry, quick=quick and _is_default(entry)))
        for entry, quick in _entries()
    ]
    found += [
        pytest.param(Entry(f"reference:{PROTOCOL}={name}"), id=f"reference-{name}")
        for name in PROTOCOLS
        if name != Stomp.name
    ]
    for product in brokers.PRODUCTS:
        for name in [offer.protocol.name for offer in product.offers]:
            if name == Stomp.name:
                continue
            entry = Entry(_over(product, name), product.providers[0])
            if (of_port := ON_THE_PORT_OF.get((product.name, name))) is not None:
                entry = replace(entry, process=_over(product, of_port))
            marks = [] if product.name in SWIFT else [pytest.mark.brokers]
            found.append(pytest.param(entry, id=f"{product.name}-{name}", marks=marks))
    return found


def _over(product: Product, protocol: str) -> str:
    """What is not said where nobody has to say it."""
    return product.name if protocol == product.offers[0].protocol.name else f"{product.name},{PROTOCOL}={protocol}"


#: The product that `make test` has.
FIRST = Entry(f"activemq:{activemq.PRODUCT.default_version}", Provider.JARS)


def _marks(entry: Entry, *, quick: bool) -> list[pytest.MarkDecorator]:
    if not quick:
        return [pytest.mark.slow, pytest.mark.brokers]
    return [] if entry in {Entry("reference"), FIRST} else [pytest.mark.brokers]


def _is_default(entry: Entry) -> bool:
    """Whether it is a product as users get it who name no version, started by the suite."""
    name, _, version = entry.text.partition(":")
    defaults = {product.name: product.default_version for product in PRODUCTS}
    return not entry.by_url and version in {"", defaults.get(name)}


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


class SharedBrokers:
    """Brokers that are started once for all contracts and protocols; those of a product end when another is asked for.

    folder: makes one for each of them
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder, self._product, self._stack = folder, "", ExitStack()
        self._running: dict[Entry, Running] = {}

    def running(self, entry: Entry) -> Running:
        """The broker; skips the test where this machine cannot have it."""
        product, key = re.split("[:,]", entry.text)[0], _process(entry)
        if product != self._product:
            self.close()
            self._product = product
        if key not in self._running:
            self._running[key] = _start(key, self._folder(), self._stack)
        return _over_its_protocol(entry, self._running[key])

    def restarted(self, entry: Entry) -> Running:
        """The broker after a crash."""
        key = _process(entry)
        crashed = self._running[key]
        assert crashed.kill is not None
        assert crashed.restart is not None
        crashed.kill()
        self._running[key] = crashed.restart()
        return _over_its_protocol(entry, self._running[key])

    def close(self) -> None:
        self._running.clear()
        self._stack.close()


def _process(entry: Entry) -> Entry:
    return replace(entry, text=entry.process or entry.text, process=None)


def _over_its_protocol(entry: Entry, running: Running) -> Running:
    if entry.process is None:
        return running
    spec = brokers.parse(entry.text, provider=entry.provider)
    (product,) = (product for product in brokers.PRODUCTS if product.name == spec.product)
    return replace(running, spec=spec, capabilities=product.capabilities(spec), protocol=product.offer(spec).protocol)


def _start(entry: Entry, folder: Path, stack: ExitStack) -> Running:
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
    import docker

    from tests.support import container_engine

    if lacks := container_engine.lacks():
        extra_missing(lacks)
    require_prepared(brokers.parse(product))
    address = stack.enter_context(container_engine.engine())
    stack.enter_context(pytest.MonkeyPatch.context()).setenv("DOCKER_HOST", address)
    with closing(docker.DockerClient(address, timeout=60)) as client:
        container_engine.IMAGES[product](client, name := f"local/{product}:contract")
    return name

"""What a test needs of the machine: a test that misses it says so in the summary, or fails where it was promised."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

from fixtures.brokers import registry as brokers
from fixtures.brokers.spec import BrokerSpec, Provider
from fixtures.errors import BrokerError

#: Brokers that `make extras` installs, and those that come with the packages of the tests.
PACKAGED = frozenset(("mosquitto", "nats", "rabbitmq"))
LOCKED = frozenset(("amqtt",))


def missing(what: str) -> NoReturn:
    """Java, the network or a broker's files are missing: an error where `CI` is set, since a user needs them too."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(f"NOT tested: {what}")


def extra_missing(what: str) -> NoReturn:
    """Something that `make extras` installs is missing: an error where `EXTRAS=1` says that it was installed."""
    if os.environ.get("EXTRAS") == "1":
        pytest.fail(what)
    pytest.skip(f"NOT tested: {what}; `make extras` installs what only some tests need")


def not_here(what: str) -> NoReturn:
    """A test is of what only some machines have, and nobody promised: a skip on all others."""
    pytest.skip(f"NOT tested: {what}")


def require_broker(text: str) -> None:
    """Downloads a broker into the user's own cache, if it is not there yet; a test that cannot have it is skipped."""
    require_prepared(brokers.parse(text))


def require_prepared(spec: BrokerSpec) -> None:
    try:
        brokers.prepare(spec)
    except BrokerError as error:
        if spec.provider is not Provider.HOME or spec.product in LOCKED:
            missing(str(error))
        (extra_missing if spec.product in PACKAGED else not_here)(str(error))

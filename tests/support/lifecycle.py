"""Processes that a test starts and ends, and what must not be left of them."""

from __future__ import annotations

import re
import sys

import psutil
import pytest

from fixtures.brokers import provisioning, reaper, session_token
from fixtures.brokers.product import Launch, Offer, Product, Program
from fixtures.brokers.spec import Provider
from fixtures.host import cpus
from fixtures.wire.stomp.client import Stomp
from tests.conftest import ROOT
from workloads.capabilities import Capabilities
from workloads.messaging import DestinationKind

CPUS = cpus.available_cpus()
REFERENCE = (sys.executable, "-u", "-m", "fixtures.reference", "--truth", "truth.json", "--port")
LISTENING = re.compile(r"^listening on 127\.0\.0\.1:(\d+)$", re.MULTILINE)


@pytest.fixture
def nothing_left(private):
    """Behind the test there is no process of it, and no temporary file.

    A broker that other tests of this worker share may start a short helper at any time: it is not the test's.
    """
    session_token.session()
    before = set(psutil.Process().children(recursive=True)) | set(carriers())
    yield
    left = [each for each in carriers() if not before & {each, *_parents(each)}]
    assert not [(each.pid, each.cmdline()) for each in psutil.wait_procs(left, timeout=5)[1] if each.is_running()]
    assert not list(private.iterdir())


def _parents(process):
    try:
        return process.parents()
    except psutil.NoSuchProcess:
        return []


def python(script):
    return lambda port: (sys.executable, "-u", "-c", script, str(port))


def product(command, *, port_chosen=False, steal=lambda _port: None):
    """A product that is this command at a port; `steal` may do something with the port before it starts."""

    def launch(_spec, _site, login):
        steal(login.port)
        listening = LISTENING if port_chosen else None
        return Launch(command(login.port), {"settings": "x"}, "", listening, {"PYTHONPATH": str(ROOT)})

    capabilities = Capabilities(frozenset((DestinationKind.TOPIC, DestinationKind.QUEUE)))
    return Product(
        name="own",
        default_version=None,
        tested=("1.0",),
        settings={},
        offers=(Offer(Stomp(), lambda _spec: capabilities),),
        launch=launch,
        alarms=(),
        home=lambda _path: Program(()),
        port_chosen=port_chosen,
        java=False,
    )


def start(made, folder, limit_s=20.0):
    spec = provisioning.read(made, made.name, "", Provider.HOME)
    return provisioning.start(made, spec, folder, frozenset(CPUS[-1:]), limit_s)


def reference(port):
    return (*REFERENCE, str(port))


def carriers(token=None):
    """The processes of a session; without a token of this one."""
    mark = token or session_token.session()
    return [each for each in psutil.process_iter() if reaper.carries(mark, each.pid)]

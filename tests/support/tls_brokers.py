"""Certificates of the tests' own authorities, and an ActiveMQ that speaks TLS with one of them."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import trustme
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from cryptography.x509 import load_pem_x509_certificate

from fixtures.brokers import activemq, ivy, java, os_process_provider, process
from fixtures.brokers import registry as brokers
from fixtures.brokers.launch import write_files
from fixtures.brokers.product import PROTOCOL, Program, Site
from fixtures.brokers.spec import Endpoint
from fixtures.wire.stomp.client import Stomp
from tests.support.load_bench import ACTIVEMQ, CPUS

_LISTENING = re.compile(r"Listening for connections at: (?:stomp|amqp)\S*?://\S+?:(\d+)\?")
_STORE_SECRET = "in-the-test-only"


def authority(folder: Path) -> tuple[trustme.CA, Path]:
    """A certificate authority, and the file that names it."""
    made = trustme.CA()
    file = folder / f"authority-{id(made)}.pem"
    made.cert_pem.write_to_path(str(file))
    return made, file


@contextmanager
def activemq_with_tls(folder: Path, ca: trustme.CA, name: str, protocol: str = Stomp.name):
    """The endpoint of a real ActiveMQ whose connector is of TLS, its certificate being of this name.

    Not stomp+nio+ssl: on a busy host that one handles the first frames of a connection twice or never (AMQ-8169).
    """
    leaf = ca.issue_cert(name)
    store = pkcs12.serialize_key_and_certificates(
        b"broker",
        load_pem_private_key(leaf.private_key_pem.bytes(), None),
        load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()),
        None,
        BestAvailableEncryption(_STORE_SECRET.encode()),
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "store.p12").write_bytes(store)
    spec = brokers.parse(f"{ACTIVEMQ},{PROTOCOL}={protocol}")
    spec = replace(spec, options=MappingProxyType({**spec.options, "connector": "ssl"}))
    jars = ivy.class_path(os_process_provider.bundle(activemq.PRODUCT, spec.version), print)
    properties = (
        f"-Djavax.net.ssl.keyStore={folder / 'store.p12'}",
        f"-Djavax.net.ssl.keyStorePassword={_STORE_SECRET}",
        "-Djavax.net.ssl.keyStoreType=PKCS12",
    )
    program = Program((str(java.find().path), *properties), tuple(map(str, jars)))
    login = Endpoint("127.0.0.1", 0, "bench", "geheim")
    launch = activemq.PRODUCT.launch(spec, Site(program, folder, folder), login)
    write_files(folder, launch)
    started = process.launch(launch.command, log=folder / "broker.log", folder=folder, cpus=CPUS[-1:])
    try:
        end = time.monotonic() + 60
        while not (found := _LISTENING.search(started.output())):
            assert started.returncode() is None, started.output()
            assert time.monotonic() < end, started.output()
            time.sleep(0.05)
        yield replace(login, port=int(found[1]))
    finally:
        started.stop()

"""A standalone cluster of Spark from the PySpark package: a master and workers in the foreground, of this session."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fixtures.brokers import session_token

HOME = Path(importlib.util.find_spec("pyspark").submodule_search_locations[0])
#: Small and soon there.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
START_S = 30.0


@dataclass(frozen=True)
class SparkNode:
    """Where a worker of the cluster runs."""

    #: Its address.
    address: str = "127.0.0.1"
    #: Precedes its command, as `ip netns exec NAME` does.
    prefix: Sequence[str] = ()


@dataclass(frozen=True)
class SparkCluster:
    """A running cluster."""

    #: URL of its master.
    url: str
    #: The processes of its workers.
    workers: Sequence[subprocess.Popen[bytes]]
    #: What its processes write.
    folder: Path


@contextmanager
def spark_cluster(folder: Path, nodes: Sequence[SparkNode], address: str = "127.0.0.1") -> Iterator[SparkCluster]:
    """A master at this address, and a worker on each node."""
    with socket.create_server((address, 0)) as free:
        port = free.getsockname()[1]
    with ExitStack() as stack:

        def run(name: str, prefix: Sequence[str], *words: str) -> subprocess.Popen[bytes]:
            log = stack.enter_context((folder / f"{name}.log").open("wb"))
            process = subprocess.Popen(
                [*prefix, str(HOME / "bin" / "spark-class"), *words],
                env=session_token.marked(
                    {
                        **os.environ,
                        "SPARK_HOME": str(HOME),
                        "SPARK_DAEMON_JAVA_OPTS": JAVA,
                        "SPARK_DAEMON_MEMORY": "128m",
                        "SPARK_LOG_DIR": str(folder),
                        "PYSPARK_PYTHON": sys.executable,
                    }
                ),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        at = ("--host", address, "--port", str(port), "--webui-port", "0")
        run("master", (), "org.apache.spark.deploy.master.Master", *at)
        await_port(address, port)
        workers = [
            run(
                f"worker-{number}",
                node.prefix,
                "org.apache.spark.deploy.worker.Worker",
                *("--host", node.address, "--webui-port", "0", "--cores", "2", "--memory", "1g"),
                *("--work-dir", str(folder / f"work-{number}"), f"spark://{address}:{port}"),
            )
            for number, node in enumerate(nodes)
        ]
        yield SparkCluster(f"spark://{address}:{port}", workers, folder)


def await_port(address: str, port: int) -> None:
    """Waits until somebody listens there."""
    end = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection((address, port), 1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return

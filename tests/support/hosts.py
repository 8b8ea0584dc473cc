"""Load hosts without Spark: an agent is a plain process, by itself or in a network or time namespace."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from fixtures.brokers import session_token
from fixtures.errors import RunError
from fixtures.load.hosts.hosted_workers import HostedWorkers, HostGroup
from tests.conftest import ROOT
from workloads.manifest import LoadHostRecord

AGENT = (sys.executable, "-m", "fixtures.load.hosts.agent")
END_S = 3.0


class ProcessLauncher:
    """Launches agents as processes of this machine; see `hosted_workers.Launcher`."""

    def __init__(self, command: Callable[[int], Sequence[str]] = lambda _host: AGENT) -> None:
        """command: of the agent of a host, which reads its assignment from standard input"""
        self.processes: list[subprocess.Popen[bytes]] = []
        self._command = command

    def launch(self, assignments: Sequence[bytes]) -> None:
        for host, pickled in enumerate(assignments):
            process = subprocess.Popen(
                self._command(host),
                cwd=ROOT,
                env=session_token.marked(os.environ),
                stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self.processes.append(process)
            process.stdin.write(pickled)
            process.stdin.close()

    def check(self) -> None:
        for host, process in enumerate(self.processes):
            if process.poll():
                raise RunError(f"agent {host} has ended (exit code {process.returncode})")

    def end(self) -> None:
        end = time.monotonic() + END_S
        for process in self.processes:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []

    close = end


def hosted(
    hosts: int = 2,
    workers: int = 1,
    *,
    launcher: ProcessLauncher | None = None,
    reached_by: str = "127.0.0.1",
    notes: list[LoadHostRecord] | None = None,
) -> HostedWorkers:
    """Workers on hosts that are processes; `notes` receives what would be noted in the manifest."""
    group = HostGroup(hosts, workers, (reached_by, 0), reached_by)
    return HostedWorkers(group, launcher or ProcessLauncher(), [].extend if notes is None else notes.extend)

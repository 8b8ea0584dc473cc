"""The doubt about a run beside which another session measured."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.results import Finding
from workloads.manifest import Manifest
from workloads.status import VerdictKind


def shared_cpus(manifest: Manifest) -> Iterator[Finding]:
    """A finding where another session measured on CPUs of the run: each took time of the other."""
    if manifest.shared_cpus:
        yield Finding(
            what=f"another session measured on CPU {', '.join(map(str, manifest.shared_cpus))}",
            measured="both at the same time",
            limit="CPUs that no other session measures on",
            advice="measure again when it has ended, or give each its own CPUs (--broker-cpus, --load-cpus)",
            consequence=VerdictKind.UNVERIFIED,
        )

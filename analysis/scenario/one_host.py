"""Whether a broker ran on the host of its clients: the suite started it there, or its URL is that of this machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from workloads.schema import BY_URL


def on_one_host(broker: str, provider: str) -> bool:
    """Whether a broker ran on the host of its clients.

    broker: its label; for a broker given by URL this is the URL
    provider: where it came from, by the manifest
    """
    if provider != BY_URL:
        return True
    host = urlsplit(broker).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

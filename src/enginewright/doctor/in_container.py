"""Whether the host is the inside of a container."""

from __future__ import annotations

from enginewright.host.model import Host


def in_container(host: Host) -> bool:
    """True for a container of any runtime; False also where nothing can be said."""
    return host.container.runtime.value not in (None, "none")

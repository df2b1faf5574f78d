"""A GPU by name: how much memory it has."""

from __future__ import annotations

from enginewright.compatibility.tables import table
from enginewright.errors import InputError, Problem


def gpu_memory(name: str) -> int:
    """Bytes of the one GPU of the table whose name contains `name`; case does not matter.

    Raises `InputError` listing the names when none or several match, unless one is exactly equal.
    """
    wanted = name.lower().removeprefix("nvidia ").strip()
    rows = table("gpu")
    matching = [key for key in rows if wanted in key.lower()]
    exact = [key for key in matching if key.lower() == wanted]
    memories = {rows[key]["memory_mib"] for key in exact or matching}
    if not wanted or len(memories) != 1:
        raise InputError(
            Problem(
                "no such GPU in the table" if not matching else "several GPUs have that name",
                "table gpu",
                ", ".join(matching or rows),
                name[:80],
                "name one of them, or give --memory-gib",
            )
        )
    return int(memories.pop()) << 20

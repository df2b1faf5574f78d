"""What a kernel takes on a device, from the report of `ptxas -v`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from enginewright.errors import Problem
from enginewright.kernels.descriptor import Resources


@dataclass(frozen=True)
class ResourceBounds:
    max_registers: int | None
    """Per thread; None is no bound."""
    forbid_spills: bool

    def problems(self, where: str, resources: Resources) -> Iterable[Problem]:
        """What of a kernel's resources is beyond the bounds; `where` names the kernel."""
        spilled = resources.spill_stores + resources.spill_loads
        if self.forbid_spills and spilled:
            bound = f" within {self.max_registers} registers" if self.max_registers else ""
            yield Problem(
                f"a kernel spills registers to local memory{bound}",
                where,
                "0 bytes of spills",
                f"{resources.spill_stores} bytes stored, {resources.spill_loads} bytes loaded",
                "raise `max_registers`, hold less in registers, or permit spills",
            )
        if self.max_registers is not None and resources.registers > self.max_registers:
            yield Problem(
                "a kernel uses more registers than `max_registers`",
                where,
                f"at most {self.max_registers}",
                str(resources.registers),
                "raise `max_registers`, or lower the kernel's launch bounds",
            )


_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<target>\w+)'")
_STACK = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def resource_usage(report: str) -> dict[str, Resources]:
    """Resources by kernel, from what `ptxas -v` printed for one architecture."""
    found = {}
    for block in report.split("ptxas info    : Compiling entry function")[1:]:
        entry = _ENTRY.search("Compiling entry function" + block)
        stack, used, shared = _STACK.search(block), _USED.search(block), _SHARED.search(block)
        if not (entry and stack and used):
            raise ValueError(f"not a report of `ptxas -v`: {block!r}")
        found[entry["name"]] = Resources(
            registers=int(used["registers"]),
            static_shared_memory=int(shared[1]) if shared else 0,
            stack=int(stack["stack"]),
            spill_stores=int(stack["stores"]),
            spill_loads=int(stack["loads"]),
        )
    return found

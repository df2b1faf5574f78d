"""A launch of a kernel: its name, shape and arguments, checked against the descriptor."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from enginewright.errors import Problem, raise_if_any
from enginewright.kernels.launch.package import PackagedKernel

_C_TYPES: dict[str, Any] = {
    "pointer": ctypes.c_void_p,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
_RANGES = {
    "pointer": (0, 2**64 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
MAX_GRID = (2**31 - 1, 65535, 65535)
"""Blocks in x, y and z, on every device since compute capability 3.0 (CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability")."""
MAX_BLOCK = (1024, 1024, 64)
"""Threads of a block in x, y and z, likewise; at most 1024 together."""


@dataclass(frozen=True)
class Launch:
    kernel: str
    grid: tuple[int, int, int]
    """Blocks."""
    block: tuple[int, int, int]
    """Threads."""
    arguments: tuple[int | float, ...]
    """In the order of the kernel's parameters; a pointer as its address, null as 0."""

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z

    def check(self, kernel: PackagedKernel) -> None:
        """Raises `InputError` with everything that does not fit the kernel."""
        raise_if_any([*self._argument_problems(kernel), *self._shape_problems(kernel)])

    def _argument_problems(self, kernel: PackagedKernel) -> Iterator[Problem]:
        names = [parameter.name for parameter in kernel.parameters]
        if len(self.arguments) != len(names):
            yield Problem(
                "wrong number of arguments",
                f"kernel `{kernel.name}`",
                f"{len(names)}: {', '.join(names)}",
                str(len(self.arguments)),
            )
        for parameter, value in zip(kernel.parameters, self.arguments, strict=False):
            where = f"kernel `{kernel.name}`, parameter `{parameter.name}`"
            if parameter.type in _RANGES:
                low, high = _RANGES[parameter.type]
                if not isinstance(value, int) or not low <= value <= high:
                    yield Problem("wrong argument", where, parameter.type, repr(value))
            elif parameter.type not in _C_TYPES:
                yield Problem("this type cannot be passed", where, actual=parameter.type)

    def _shape_problems(self, kernel: PackagedKernel) -> Iterator[Problem]:
        where, limit = f"kernel `{kernel.name}`", kernel.max_threads or 1024
        if any(not 1 <= n <= bound for n, bound in zip(self.block, MAX_BLOCK, strict=True)):
            expected = f"from 1 to {MAX_BLOCK} threads"
            yield Problem("wrong shape of a block", where, expected, str(self.block))
        if self.threads > limit:
            actual = f"{self.threads} {self.block}"
            yield Problem("wrong number of threads in a block", where, f"1 to {limit}", actual)
        if any(not 1 <= n <= bound for n, bound in zip(self.grid, MAX_GRID, strict=True)):
            yield Problem("wrong number of blocks", where, f"from 1 to {MAX_GRID}", str(self.grid))

    def c_types(self, kernel: PackagedKernel) -> tuple[Any, ...]:
        """The `ctypes` type of each argument."""
        return tuple(_C_TYPES[parameter.type] for parameter in kernel.parameters)

"""Read what a PTX module declares: its entry points with their parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from enginewright.errors import InputError, Problem
from enginewright.kernels.descriptor import Parameter, Value

_ENTRY = re.compile(
    r"\.entry\s+(?P<name>[\w$]+)\s*(?:\((?P<parameters>[^)]*)\))?(?P<directives>[^{]*)\{"
)
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>\w+)")
_VALUE_TYPES = {
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "s32": "int32",
    "s64": "int64",
    "b8": "structure",
    "f32": "float32",
    "f64": "float64",
}
_WIDTHS = {"pointer": 8, "int64": 8, "uint64": 8, "float64": 8, "structure": 0}
_WIDTHS |= {"int32": 4, "uint32": 4, "float32": 4, "uint16": 2, "int8": 1, "uint8": 1}


@dataclass(frozen=True)
class Entry:
    """An entry point of a PTX module."""

    name: str
    parameters: tuple[Parameter, ...]
    max_threads: int | None
    """Most threads of a block that the source promises; None where it does not say."""


def entries(text: str, declared: Mapping[str, tuple[Parameter, ...]], source: str) -> list[Entry]:
    """Entry points by name, with parameter names and element types from `declared`.

    Without a declaration, parameters are called by their place and integers keep the width that
    PTX gives. Raises `InputError` where a declaration and PTX disagree.
    """
    found = []
    for match in _ENTRY.finditer(text):
        compiled = [
            _VALUE_TYPES.get(parameter["type"], parameter["type"])
            for parameter in _PARAMETER.finditer(match["parameters"] or "")
        ]
        parameters = declared.get(match["name"])
        if parameters is None:
            parameters = tuple(Value(f"parameter_{i}", kind) for i, kind in enumerate(compiled))
        elif [_WIDTHS[p.type] for p in parameters] != [_WIDTHS.get(kind) for kind in compiled]:
            raise InputError(
                Problem(
                    "the declaration of a kernel does not match what was compiled",
                    f"{source}, kernel `{match['name']}`",
                    ", ".join(compiled),
                    ", ".join(parameter.type for parameter in parameters),
                    "write its declaration without macros and type aliases",
                )
            )
        threads = re.search(r"\.(?:max|req)ntid\s+(\d+(?:\s*,\s*\d+)*)", match["directives"])
        bound = None
        if threads:
            bound = 1
            for extent in threads[1].split(","):
                bound *= int(extent)
        found.append(Entry(match["name"], parameters, bound))
    return sorted(found, key=lambda entry: entry.name)

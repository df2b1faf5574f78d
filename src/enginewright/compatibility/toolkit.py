"""CUDA toolkits: the architectures they compile for and the host compilers they accept."""

from __future__ import annotations

from collections.abc import Iterable

from enginewright.compatibility.tables import HOW_TO_ADD, Row, find, row, table
from enginewright.compatibility.version import ComputeCapability, Version
from enginewright.errors import Problem


def toolkit_row(version: str) -> Row:
    """The row for a version such as `13.0` or `13.0.88`; raise `InputError` when there is none."""
    return row("toolkit", ".".join(version.split(".")[:2]))


def toolkit_problems(
    toolkit: str, targets: Iterable[ComputeCapability], *, gcc: str | None = None
) -> list[Problem]:
    """What stops the toolkit (major.minor) from compiling for `targets` with a host compiler.

    Raises `InputError` when the table has no row for the toolkit.
    """
    found = toolkit_row(toolkit)
    problems = []
    known = [ComputeCapability.parse(text) for text in found["compute_capabilities"]]
    for capability in targets:
        if capability not in known:
            able = toolkits_for(capability)
            problems.append(
                Problem(
                    f"CUDA toolkit {found.key} cannot compile for compute capability {capability}",
                    found.name,
                    "one of " + ", ".join(found["compute_capabilities"]),
                    str(capability),
                    f"use a toolkit that can: {', '.join(able) or 'none in the table'}; "
                    "or leave the target out",
                )
            )
    newest = found["gcc_max"]
    if gcc is not None and Version.parse(gcc).major > newest:
        problems.append(
            Problem(
                f"CUDA toolkit {found.key} does not accept gcc {gcc} as host compiler",
                found.name,
                f"gcc {newest} or older",
                gcc,
                f"lock gcc {newest} with the toolkit and pass it with -ccbin; "
                "-allow-unsupported-compiler only moves the errors",
            )
        )
    return problems


def toolkits_for(capability: ComputeCapability) -> list[str]:
    """Toolkits of the table that compile for the capability."""
    return [
        key
        for key, found in table("toolkit").items()
        if str(capability) in found["compute_capabilities"]
    ]


def ptx_problem(emitted: str, cuda: str, reader: str = "ptxas") -> Problem | None:
    """Why `reader` (ptxas, or the driver) of CUDA release `cuda` does not read PTX `emitted`.

    Also a problem: a PTX version that the table lacks and that is not older than all of its rows.
    Minor-version compatibility does not help here: PTX needs the release that knows its version.
    """
    found = find("ptx", emitted)
    if found is not None and Version.parse(found["cuda"]) <= Version.parse(cuda):
        return None
    if found is None:
        rows = list(table("ptx"))
        if Version.parse(emitted) < Version.parse(rows[0]):
            return None
        return Problem(
            f"the table of PTX versions has no row for PTX {emitted}: which CUDA release reads it "
            "is not known",
            "table ptx",
            f"PTX {rows[0]} to {rows[-1]}",
            f"PTX {emitted}, {reader} of CUDA {cuda}",
            HOW_TO_ADD,
        )
    return Problem(
        f"{reader} of CUDA {cuda} cannot read PTX {emitted}",
        found.name,
        f"CUDA {found['cuda']} or newer",
        f"CUDA {cuda}",
        "lock the compiler that emits the PTX and ptxas together"
        if reader == "ptxas"
        else f"upgrade the driver to one of CUDA {found['cuda']}, or compile machine code for the "
        "device",
    )

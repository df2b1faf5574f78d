"""What the README of a package for AOTInductor says beyond the head."""

from __future__ import annotations

from importlib.resources import files
from string import Template

from enginewright.engines.readme import ReadmePart
from enginewright.products.aotinductor.table import AotInductorTable
from enginewright.tasks.registry import find_task


def readme(table: AotInductorTable, task: str) -> ReadmePart:
    where = "It runs on any x86-64 processor."
    if table.gpu is not None:
        where = (
            f"It runs on GPUs of compute capability {table.gpu.compute_capability}, compiled for a "
            f"{table.gpu.name} on a host that need not have one."
        )
    facts = (
        where,
        f"`{table.engine}` is loaded, in {table.dtype}; its weights are the safetensors files.",
    )
    template = files(__package__).joinpath("readme.md").read_text(encoding="utf-8")
    arguments = find_task(task, "parameters, task").usage
    return ReadmePart(facts, (Template(template).substitute(arguments=arguments),))

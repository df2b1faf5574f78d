"""What the README of a package for ONNX Runtime says beyond the head."""

from __future__ import annotations

from importlib.resources import files
from string import Template

from enginewright.document import encode
from enginewright.engines.readme import ReadmePart
from enginewright.products.onnxruntime.table import OnnxRuntimeTable
from enginewright.tasks.registry import find_task


def readme(table: OnnxRuntimeTable, task: str) -> ReadmePart:
    chosen = ", ".join(f"{name} {value}" for name, value in sorted(encode(table.options).items()))
    facts = (
        "It runs on any processor.",
        f"`{table.model}` is loaded; weights that lie beside it belong to it.",
        f"Options: {chosen}.",
    )
    template = files(__package__).joinpath("readme.md").read_text(encoding="utf-8")
    arguments = find_task(task, "parameters, task").usage
    return ReadmePart(facts, (Template(template).substitute(arguments=arguments),))

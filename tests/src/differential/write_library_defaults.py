"""Writes src/enginewright/checkpoint/library_defaults.toml out of the transformers library.

Run from the root of the repository with the Python of lockfiles/export.txt, when the library's
version changes or a family is added:

    PYTHONPATH=src python tests/src/differential/write_library_defaults.py
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import transformers

from enginewright.families.registry import families

TARGET = Path("src/enginewright/checkpoint/library_defaults.toml")


def table(model_types: list[str]) -> str:
    """The file's text: one table for the fields of every class, and one a family."""
    every = _fields(transformers.PretrainedConfig)
    lines = [
        f"# Defaults of the configuration classes of transformers {transformers.__version__}.",
        "# Written by tests/src/differential/write_library_defaults.py; do not edit.",
        "",
        "[every_class]",
        *_rows(every),
    ]
    for model_type in model_types:
        own = _fields(type(transformers.CONFIG_MAPPING[model_type]()))
        lines += ["", f"[{model_type}]", *_rows({k: v for k, v in own.items() if k not in every})]
    return "\n".join(lines) + "\n"


def _fields(kind: type) -> dict[str, Any]:
    return {
        item.name: None if item.default is dataclasses.MISSING else item.default
        for item in dataclasses.fields(kind)
    }


def _rows(fields: dict[str, Any]) -> list[str]:
    shown = {name: "none" if value is None else value for name, value in fields.items()}
    return [f"{name} = {json.dumps(value)}" for name, value in sorted(shown.items())]


if __name__ == "__main__":
    TARGET.write_text(table(list(families())))

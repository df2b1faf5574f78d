"""The library with kernels of our own, in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from enginewright.errors import InputError, Problem


def register_operators(settings: Any, library: Path) -> None:
    """Let a session of these `settings` use the operators; raises `InputError` where it cannot."""
    try:
        settings.register_custom_ops_library(str(library.absolute()))
    except Exception as error:  # the classes of ONNX Runtime's errors have no common base
        raise InputError(
            Problem(
                "ONNX Runtime cannot load the library of operators",
                library.name,
                "an `operator_library` with interface `onnxruntime`, and its libraries",
                str(error).splitlines()[0][:500],
                "package it on this kind of host; ONNX Runtime 1.21 or newer loads it",
            )
        ) from error

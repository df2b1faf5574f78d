"""What ONNX Runtime says of an engine in `engine.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enginewright.engines.manifest import Manifest
from enginewright.errors import Problem
from enginewright.products.onnxruntime.options import OnnxRuntimeOptions
from enginewright.schema import Name


@dataclass(frozen=True)
class OnnxRuntimeTable:
    model: Name
    """The file that is loaded; others that were built have its weights."""
    options: OnnxRuntimeOptions
    operators: Name | None = None
    """The library with kernels of our own that the model needs."""

    def problems(self, manifest: Manifest) -> Sequence[Problem]:
        built = f"one of {', '.join(manifest.built)}"[:400]
        return tuple(
            Problem(f"{what} is not among the files that were built", where, built, name[:200])
            for what, where, name in (
                ("the model", "own.model", self.model),
                ("the library of operators", "own.operators", self.operators),
            )
            if name is not None and name not in manifest.built
        )

    def device_needs(self) -> None:
        """Every provider here runs on the processor."""

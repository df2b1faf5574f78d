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

    def problems(self, manifest: Manifest) -> Sequence[Problem]:
        if self.model in manifest.built:
            return ()
        built = ", ".join(manifest.built)
        what = "the model is not among the files that were built"
        return (Problem(what, "own.model", f"one of {built}"[:400], self.model[:200]),)

    def device_needs(self) -> None:
        """Every provider here runs on the processor."""

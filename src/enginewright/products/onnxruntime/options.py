"""What a user asks of ONNX Runtime's optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from enginewright.engines.reproducibility import BIT_IDENTICAL, WITHIN_TOLERANCE
from enginewright.schema import one_of

PROVIDERS: Mapping[str, str] = {"cpu": "CPUExecutionProvider"}
"""Name in a BUILD file -> name in ONNX Runtime."""

OPTIMIZATION_LEVELS: Mapping[str, str] = {
    "disabled": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}
"""`all` adds layouts that depend on the processor of the building host."""

ACCURACIES: Mapping[str, str] = {"float32": "1", "int8": "4"}
"""In what MatMulNBits multiplies 4-bit weights -> its `accuracy_level`."""


@dataclass(frozen=True)
class OnnxRuntimeOptions:
    provider: Annotated[str, one_of(tuple(PROVIDERS))] = "cpu"
    optimization_level: Annotated[str, one_of(tuple(OPTIMIZATION_LEVELS))] = "extended"
    quantized_matmul: Annotated[str, one_of(tuple(ACCURACIES))] = "float32"
    """`int8` rounds activations too: faster, and up to 1 % away from the graph's meaning."""

    @property
    def reproducibility(self) -> str:
        """Measured with ONNX Runtime 1.32: equal bytes from every process, except for `all`."""
        return BIT_IDENTICAL if self.optimization_level != "all" else WITHIN_TOLERANCE

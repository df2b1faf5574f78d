"""What a user asks of ONNX Runtime's optimizer, decoded and validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enginewright.errors import Problem, raise_if_any

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
    provider: str = "cpu"
    optimization_level: str = "extended"
    quantized_matmul: str = "float32"
    """`int8` rounds activations too: faster, and up to 1 % away from the graph's meaning."""

    @classmethod
    def decode(cls, parameters: Mapping[str, Any]) -> OnnxRuntimeOptions:
        """Raise `InputError` with every problem of the parameters."""
        known: Mapping[str, Mapping[str, str]] = {
            "provider": PROVIDERS,
            "optimization_level": OPTIMIZATION_LEVELS,
            "quantized_matmul": ACCURACIES,
        }
        problems = [
            Problem("unknown parameter", f"parameter `{name}`", ", ".join(known))
            for name in sorted({*parameters} - {*known})
        ]
        for name, valid in known.items():
            if name in parameters and parameters[name] not in valid:
                expected = " or ".join(valid)
                actual = repr(parameters[name])
                problems.append(Problem("unknown value", f"parameter `{name}`", expected, actual))
        raise_if_any(problems)
        return cls(**parameters)

    @property
    def reproducibility(self) -> str:
        """Measured with ONNX Runtime 1.32: equal bytes from every process, except for `all`."""
        everywhere = self.optimization_level != "all"
        return "bit-identical" if everywhere else "validated within tolerance"

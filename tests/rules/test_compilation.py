"""What the rule that compiles code asks of its two steps."""

from __future__ import annotations

import pytest
from pants.engine.addresses import Address
from pants_enginewright.kernels.compilation import (
    CompileCode,
    CompileExtension,
    CompileKernels,
    CompileOperators,
    HostCompiler,
)
from pants_enginewright.kernels.targets import (
    CudaExtensionTarget,
    CudaKernelsTarget,
    OperatorLibraryTarget,
)

HERE = Address("csrc/norm", target_name="norm")
KERNELS = CompileKernels.create(
    CudaKernelsTarget(
        {"compute_capabilities": ["10.0", "8.9"], "flags": ["-O3"], "max_registers": 64}, HERE
    )
)
EXTENSION = CompileExtension.create(
    CudaExtensionTarget({"sanitizers": ["address"], "include_dirs": ["csrc", "x"]}, HERE)
)
OPERATORS = CompileOperators.create(
    OperatorLibraryTarget(
        {
            "sources": ["onnxruntime.cu"],
            "interface": "onnxruntime",
            "compute_capabilities": ["9.0", "8.0"],
            "flags": ["-O3"],
        },
        HERE,
    )
)


@pytest.mark.parametrize(
    ("kind", "action", "parameters"),
    [
        (
            OPERATORS,
            "compile_operators",
            {
                "name": "enginewright_onnxruntime",
                "interface": "onnxruntime",
                "compute_capabilities": ["8.0", "9.0"],
                "flags": ["-O3"],
                "include_dirs": ["inputs/code/csrc"],
                "host_compiler": {"name": "gcc", "version": "12.2.0"},
            },
        ),
        (
            KERNELS,
            "compile_kernels",
            {
                "compute_capabilities": ["8.9", "10.0"],
                "ptx": True,
                "max_registers": 64,
                "flags": ["-O3"],
                "include_dirs": ["inputs/code/csrc"],
                "host_compiler": {"name": "gcc", "version": "12.2.0"},
            },
        ),
        (
            EXTENSION,
            "compile_extension",
            {
                "name": "norm",
                "sanitizers": ["address"],
                "flags": [],
                "include_dirs": ["inputs/code/csrc", "inputs/code/x"],
                "host_compiler": {"name": "gcc", "version": "12.2.0"},
            },
        ),
    ],
    ids=["operators", "kernels", "extension"],
)
def test_every_field_reaches_the_compiler(
    kind: CompileCode, action: str, parameters: dict[str, object]
) -> None:
    assert kind.steps.modules == (f"enginewright.actions.{action}",)
    assert kind.parameters(HostCompiler("12.2.0")) == parameters

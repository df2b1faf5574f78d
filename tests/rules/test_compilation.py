"""What the rule that compiles code asks of its two steps."""

from __future__ import annotations

import pytest
from pants.engine.addresses import Address
from pants.engine.target import Target
from pants_enginewright.kernels.compilation import KINDS, HostCompiler, plan_parameters
from pants_enginewright.kernels.targets import CudaExtensionTarget, CudaKernelsTarget

HERE = Address("csrc/norm", target_name="norm")
KERNELS = CudaKernelsTarget(
    {"compute_capabilities": ["8.9"], "flags": ["-O3"], "max_registers": 64}, HERE
)
EXTENSION = CudaExtensionTarget({"sanitizers": ["address"], "include_dirs": ["csrc", "x"]}, HERE)


@pytest.mark.parametrize(
    ("target", "action", "parameters"),
    [
        (
            KERNELS,
            "compile_kernels",
            {
                "compute_capabilities": ["8.9"],
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
    ids=["kernels", "extension"],
)
def test_every_field_reaches_the_compiler(
    target: Target, action: str, parameters: dict[str, object]
) -> None:
    assert KINDS[target.alias].action == action
    assert plan_parameters(target, HostCompiler("12.2.0")) == parameters

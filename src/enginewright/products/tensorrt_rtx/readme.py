"""What the README of a package for TensorRT for RTX says beyond the head."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from string import Template

from enginewright.engines.readme import ReadmePart
from enginewright.engines.tensor import EngineTensor
from enginewright.products.tensorrt.built_plan import PLAN_NAME
from enginewright.products.tensorrt.optimization_profile import OptimizationProfile
from enginewright.products.tensorrt.plan import PlanTable


def readme(tensors: Sequence[EngineTensor], table: PlanTable) -> ReadmePart:
    plan = table.built
    capabilities = ", ".join(plan.compute_capabilities)
    fact = (
        f"GPUs: compute capability {capabilities}; driver {table.minimum_driver} or newer "
        f"(CUDA {table.cuda})."
    )
    template = files(__package__).joinpath("readme.md").read_text(encoding="utf-8")
    inputs, outputs = _buffers(tensors, plan.profiles)
    load = Template(template).substitute(plan=PLAN_NAME, inputs=inputs, outputs=outputs)
    return ReadmePart((fact,), (*_profiles(plan.profiles), load))


def _profiles(profiles: Sequence[OptimizationProfile]) -> tuple[str, ...]:
    rows = [
        f"| {number} | {axis} | {low} | {best} | {high} |\n"
        for number, profile in enumerate(profiles)
        for axis, (low, best, high) in sorted(profile.axes.items())
    ]
    head = "## Profiles\n\n| profile | axis | min | opt | max |\n|---|---|---|---|---|\n"
    return (head + "".join(rows),) if rows else ()


def _buffers(
    tensors: Sequence[EngineTensor], profiles: Sequence[OptimizationProfile]
) -> tuple[str, str]:
    """Lines of Python that make the inputs at the first profile's optimum, and name the outputs."""
    inputs, outputs = [], []
    shapes = profiles[0].shapes if profiles else {}
    for tensor in tensors:
        dtype = f"torch.{tensor.dtype}"
        if tensor.mode == "output":
            outputs.append(f'"{tensor.name}": {dtype}')
            continue
        shape = list(shapes[tensor.name][1] if tensor.name in shapes else tensor.shape)
        inputs.append(f'    "{tensor.name}": torch.zeros({shape}, dtype={dtype}, device="cuda"),')
    return "\n".join(inputs), ", ".join(outputs)

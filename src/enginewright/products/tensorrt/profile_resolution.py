"""Ranges over named axes, checked against a model and turned into ranges of its inputs' dims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginewright.errors import Problem
from enginewright.onnx_model.record import TensorRecord
from enginewright.products.tensorrt.optimization_profile import OptimizationProfile, Range
from enginewright.products.tensorrt.options import ProfileRequest


def axis_name(tensor: str, index: int, dim: int | str | None) -> int | str:
    """Size or name of an axis; a dynamic axis without a name is called `TENSOR:INDEX`."""
    return f"{tensor}:{index}" if dim is None else dim


def named_shape(tensor: TensorRecord) -> tuple[int | str, ...]:
    return tuple(axis_name(tensor.name, index, dim) for index, dim in enumerate(tensor.shape))


def check(inputs: Sequence[TensorRecord], profiles: Sequence[ProfileRequest]) -> list[Problem]:
    """Problems of `profiles`: axes that are not in the model, dynamic axes that are not covered."""
    owners: dict[str, list[str]] = {}
    for tensor in inputs:
        for index, dim in enumerate(named_shape(tensor)):
            if isinstance(dim, str):
                owners.setdefault(dim, []).append(f"`{tensor.name}` dim {index}")
    if owners and not profiles:
        return [
            Problem(
                "no optimization profile",
                "profiles",
                "a range for each dynamic axis: " + ", ".join(sorted(owners)),
                "none",
                'write profiles=[{"axis": (min, opt, max), ...}]',
            )
        ]
    valid = ", ".join(sorted(owners)) or "none: every axis of the model is static"
    problems = []
    for number, profile in enumerate(profiles):
        where = f"profiles[{number}]"
        for axis in sorted({*profile} - {*owners}):
            problems.append(
                Problem(f"no input has a dynamic axis `{axis}`", where, f"one of {valid}", axis)
            )
        for axis in sorted({*owners} - {*profile}):
            places = ", ".join(owners[axis])
            problems.append(
                Problem(
                    f"dynamic axis `{axis}` has no range",
                    where,
                    f"minimum, optimum, maximum for `{axis}` ({places})",
                    ", ".join(sorted(profile)) or "no axes",
                )
            )
    return problems


def check_shape_tensors(names: Iterable[str]) -> list[Problem]:
    """One problem for each input whose values decide shapes: a profile has ranges of axes alone."""
    return [
        Problem(
            f"the values of input `{name}` decide shapes",
            "the model",
            "inputs whose values do not decide the shape of a tensor",
            f"`{name}`",
            "export the model with these values as constants, or with an axis in their place",
        )
        for name in sorted(names)
    ]


def resolve(inputs: Sequence[TensorRecord], profile: ProfileRequest) -> OptimizationProfile:
    """Dims of every dynamic input at the minimum, optimum and maximum of a checked profile."""
    shapes: dict[str, Range] = {}
    for tensor in inputs:
        dims = named_shape(tensor)
        if any(isinstance(dim, str) for dim in dims):
            low, best, high = (
                tuple(profile[dim][i] if isinstance(dim, str) else dim for dim in dims)
                for i in range(3)
            )
            shapes[tensor.name] = (low, best, high)
    return OptimizationProfile(shapes, profile)

"""What the products that share the builder say of a plan in `engine.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from enginewright.compatibility.version import ComputeCapability, Version, try_version
from enginewright.engines.device_needs import DeviceNeeds
from enginewright.engines.manifest import Manifest
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import Problem
from enginewright.products.tensorrt.built_plan import PLAN_NAME, BuiltPlan
from enginewright.products.tensorrt.optimization_profile import OptimizationProfile
from enginewright.schema import INLINE, FromText, Name


@dataclass(frozen=True)
class TunedOn:
    name: Name
    """Of the GPU, as its driver says it."""


@dataclass(frozen=True)
class PlanTable:
    built: BuiltPlan = field(metadata=INLINE)
    cuda: Annotated[Version, FromText(Version.parse)]
    """Release of CUDA that the product was built with."""
    minimum_driver: Annotated[Version, FromText(Version.parse)]
    device: TunedOn | None = None
    """None where the plan is bound to no device."""

    def device_needs(self) -> DeviceNeeds:
        return DeviceNeeds(
            str(self.cuda),
            self.minimum_driver,
            tuple(map(ComputeCapability.parse, self.built.compute_capabilities)),
            self.device.name if self.device is not None else "",
            self.greatest_axes(),
        )

    def greatest_axes(self) -> tuple[Mapping[str, int], ...]:
        """The greatest size of each axis in each profile."""
        return tuple(
            {axis: sizes[-1] for axis, sizes in profile.axes.items()}
            for profile in self.built.profiles
        )

    def problems(self, manifest: Manifest) -> Sequence[Problem]:
        return [*_head_problems(manifest), *_profile_problems(manifest, self.built.profiles)]


def _head_problems(manifest: Manifest) -> Iterator[Problem]:
    version = manifest.product.version
    parsed = try_version(version)
    if parsed is None or len(parsed.fields) != 4:
        what, expected = "the version is not complete", "four numbers, as 1.7.1.116"
        yield Problem(what, "product.version", expected, version[:80])
    if PLAN_NAME not in manifest.built:
        built = ", ".join(manifest.built)
        yield Problem("no plan was built", "built", PLAN_NAME, built[:200])


def _profile_problems(
    manifest: Manifest, profiles: Sequence[OptimizationProfile]
) -> Iterator[Problem]:
    inputs = {tensor.name: tensor for tensor in manifest.tensors if tensor.mode == "input"}
    dynamic = {name for name, tensor in inputs.items() if tensor.is_dynamic}
    if dynamic and not profiles:
        what = "no profile for dynamic inputs"
        yield Problem(what, "own.profiles", ", ".join(sorted(dynamic)))
    for number, profile in enumerate(profiles):
        place = f"own.profiles[{number}]"
        if {*profile.shapes} != dynamic:
            what = "profile does not cover the dynamic inputs"
            actual = ", ".join(sorted(profile.shapes))
            yield Problem(what, place, ", ".join(sorted(dynamic)), actual)
        for name in sorted(dynamic & {*profile.shapes}):
            yield from _shape_problems(inputs[name], profile, place)


def _shape_problems(
    tensor: EngineTensor, profile: OptimizationProfile, where: str
) -> Iterator[Problem]:
    rows = profile.shapes[tensor.name]
    for index, dims in enumerate(zip(*rows, strict=False)):
        dim: Any = tensor.shape[index] if index < len(tensor.shape) else "none"
        allowed = profile.axes.get(dim) if isinstance(dim, str) else (dim,) * 3
        if allowed != dims:
            what = f"profile contradicts dim {index} of input `{tensor.name}`"
            yield Problem(what, where, f"{dim}: {allowed}", str(dims))
    if any(len(row) != len(tensor.shape) for row in rows):
        what = f"profile has another rank than input `{tensor.name}`"
        yield Problem(what, where, f"{len(tensor.shape)} dims")

"""`engine.json`: what an engine package is, for the tools that load, check or serve it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.document import Document
from enginewright.engines import reproducibility
from enginewright.engines.optimization_profile import OptimizationProfile
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import Problem, raise_if_any
from enginewright.hashing import FileDigest

FORMAT = 1
PLAN_NAME = "engine.plan"


@dataclass(frozen=True)
class BuildInput:
    """One input of the build."""

    role: str
    """Such as `weights`, `config`, `dataset`, `toolchain`."""
    address: str
    """The target that owns it."""
    path: str
    """Relative to the repository."""
    digest: FileDigest

    @classmethod
    def from_document(cls, document: Document) -> BuildInput:
        return cls(
            document.text("role"),
            document.text("address"),
            document.text("path"),
            document.digest(),
        )

    def to_json(self) -> dict[str, object]:
        place = {"role": self.role, "address": self.address, "path": self.path}
        return {**place, **asdict(self.digest)}


@dataclass(frozen=True)
class Manifest:
    name: str
    task: str
    product: str
    version: str
    """All four fields of the product's version, as the loaded library reported them."""
    cuda: str
    minimum_driver: str
    plan: FileDigest
    files: Mapping[str, FileDigest]
    """Every file of the package by its path in the package, the plan too, not this manifest."""
    tensors: tuple[EngineTensor, ...]
    profiles: tuple[OptimizationProfile, ...]
    compute_capabilities: tuple[str, ...]
    weight_streaming: bool
    options: Mapping[str, Any]
    libraries: Mapping[str, str]
    """File name -> sha256 of the shared libraries that built the plan."""
    plugins: tuple[Mapping[str, Any], ...]
    kernels: tuple[Mapping[str, Any], ...]
    inputs: tuple[BuildInput, ...]
    size_estimate: Mapping[str, Any] | None
    warnings: tuple[str, ...]
    reproducibility: str
    """One of `reproducibility.TIERS`."""

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Raise `InputError` with every field that is missing, wrong or contradicts another."""
        document = Document(canonical_json.read_object(path), str(path))
        manifest = cls._decode(document)
        raise_if_any([*document.problems, *manifest.contradictions(str(path))])
        return manifest

    @classmethod
    def _decode(cls, document: Document) -> Manifest:
        if document.number("format") != FORMAT:
            document.note("format", f"{FORMAT}", document.value.get("format"))
        product = document.child("product")
        tier = document.text("reproducibility")
        if tier not in reproducibility.TIERS:
            document.note("reproducibility", "one of " + ", ".join(reproducibility.TIERS), tier)
        files = document.child("files")
        return cls(
            name=document.text("name"),
            task=document.text("task"),
            product=product.text("name"),
            version=product.text("version"),
            cuda=document.text("cuda"),
            minimum_driver=document.text("minimum_driver"),
            plan=document.child("plan").digest(),
            files={name: files.child(name).digest() for name in files.value},
            tensors=document.children("tensors", EngineTensor.from_document),
            profiles=document.children("profiles", OptimizationProfile.from_document),
            compute_capabilities=document.texts("compute_capabilities"),
            weight_streaming=document.flag("weight_streaming"),
            options=document.table("options"),
            libraries=document.table("libraries"),
            plugins=document.children("plugins", lambda item: item.value),
            kernels=document.children("kernels", lambda item: item.value),
            inputs=document.children("inputs", BuildInput.from_document),
            size_estimate=None
            if document.value.get("size_estimate") is None
            else document.table("size_estimate"),
            warnings=document.texts("warnings"),
            reproducibility=tier,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "name": self.name,
            "task": self.task,
            "product": {"name": self.product, "version": self.version},
            "cuda": self.cuda,
            "minimum_driver": self.minimum_driver,
            "plan": {"path": PLAN_NAME, **asdict(self.plan)},
            "files": {name: asdict(digest) for name, digest in self.files.items()},
            "tensors": [tensor.to_json() for tensor in self.tensors],
            "profiles": [profile.to_json() for profile in self.profiles],
            "compute_capabilities": list(self.compute_capabilities),
            "weight_streaming": self.weight_streaming,
            "options": dict(self.options),
            "libraries": dict(self.libraries),
            "plugins": [dict(plugin) for plugin in self.plugins],
            "kernels": [dict(kernel) for kernel in self.kernels],
            "inputs": [build_input.to_json() for build_input in self.inputs],
            "size_estimate": self.size_estimate,
            "warnings": list(self.warnings),
            "reproducibility": self.reproducibility,
        }

    def contradictions(self, where: str) -> list[Problem]:
        """Fields that cannot all be true."""
        return [*self._plan_problems(where), *self._profile_problems(where)]

    def _plan_problems(self, where: str) -> Iterator[Problem]:
        listed = self.files.get(PLAN_NAME)
        if listed != self.plan:
            place = f"{where}, files.{PLAN_NAME}"
            yield Problem("the plan is listed otherwise", place, str(self.plan), str(listed))
        for kind, entries in (("plugins", self.plugins), ("kernels", self.kernels)):
            for index, entry in enumerate(entries):
                path = entry.get("path")
                if path is not None and path not in self.files:
                    yield Problem(
                        f"{kind}[{index}] needs a file that is not in the package",
                        f"{where}, {kind}[{index}].path",
                        "one of " + ", ".join(sorted(self.files)),
                        str(path),
                    )

    def _profile_problems(self, where: str) -> Iterator[Problem]:
        inputs = {tensor.name: tensor for tensor in self.tensors if tensor.mode == "input"}
        dynamic = {name for name, tensor in inputs.items() if tensor.is_dynamic}
        if dynamic and not self.profiles:
            yield Problem(
                "no profile for dynamic inputs", f"{where}, profiles", ", ".join(sorted(dynamic))
            )
        for number, profile in enumerate(self.profiles):
            place = f"{where}, profiles[{number}]"
            if {*profile.shapes} != dynamic:
                yield Problem(
                    "profile does not cover the dynamic inputs",
                    place,
                    ", ".join(sorted(dynamic)),
                    ", ".join(sorted(profile.shapes)),
                )
            for name in sorted(dynamic & {*profile.shapes}):
                yield from _shape_problems(inputs[name], profile, place)


def _shape_problems(
    tensor: EngineTensor, profile: OptimizationProfile, where: str
) -> Iterator[Problem]:
    for index, dims in enumerate(zip(*profile.shapes[tensor.name], strict=False)):
        dim = tensor.shape[index] if index < len(tensor.shape) else "none"
        allowed = profile.axes.get(dim) if isinstance(dim, str) else (dim,) * 3
        if allowed != dims:
            yield Problem(
                f"profile contradicts dim {index} of input `{tensor.name}`",
                where,
                f"{dim}: {allowed}",
                str(dims),
            )
    if any(len(row) != len(tensor.shape) for row in profile.shapes[tensor.name]):
        expected = f"{len(tensor.shape)} dims"
        yield Problem(f"profile has another rank than input `{tensor.name}`", where, expected)

"""Join what the build reported with the rest of a package into its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enginewright.document import Document
from enginewright.engines.manifest import PLAN_NAME, BuildInput, Manifest
from enginewright.engines.optimization_profile import OptimizationProfile
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import Problem, raise_if_any

_KNOWN = {
    "name", "task", "source", "files", "inputs", "toolchain", "plugins", "kernels",
    "size_estimate", "length",
}  # fmt: skip


def describe(build: Mapping[str, Any], parameters: Mapping[str, Any]) -> Manifest:
    """`build` is the result of `build_engine`; raises `InputError` with all problems.

    The toolchain of the parameters must be the one that built; a plan in `files` must be the
    plan that was built.
    """
    problems: list[Problem] = []
    built = Document(build, "result of the build", problems)
    wanted = Document(parameters, "parameters", problems)
    for name in sorted({*parameters} - _KNOWN):
        expected = "one of " + ", ".join(sorted(_KNOWN))
        problems.append(Problem("unknown parameter", f"parameters, {name}", expected))
    plan = built.child("plan").digest()
    product, toolchain = built.child("product"), wanted.child("toolchain")
    for field, actual in (("product", product.text("name")), ("version", product.text("version"))):
        if toolchain.text(field) != actual:
            toolchain.note(field, f"{actual}, which built the plan", toolchain.value.get(field))
    files = wanted.child("files")
    manifest = Manifest(
        name=wanted.text("name"),
        task=wanted.text("task"),
        product=product.text("name"),
        version=product.text("version"),
        cuda=toolchain.text("cuda"),
        minimum_driver=toolchain.text("minimum_driver"),
        plan=plan,
        files={PLAN_NAME: plan, **{name: files.child(name).digest() for name in files.value}},
        tensors=built.children("tensors", EngineTensor.from_document),
        profiles=built.children("profiles", OptimizationProfile.from_document),
        compute_capabilities=built.texts("compute_capabilities"),
        weight_streaming=built.flag("weight_streaming"),
        options=built.table("options"),
        libraries=built.table("libraries"),
        plugins=wanted.children("plugins", lambda item: item.value)
        if "plugins" in parameters
        else (),
        kernels=wanted.children("kernels", lambda item: item.value)
        if "kernels" in parameters
        else (),
        inputs=wanted.children("inputs", BuildInput.from_document),
        size_estimate=parameters.get("size_estimate"),
        warnings=built.texts("warnings"),
        reproducibility=built.text("reproducibility"),
    )
    raise_if_any([*problems, *manifest.contradictions("engine.json")])
    return manifest

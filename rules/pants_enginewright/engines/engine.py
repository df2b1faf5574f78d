"""Engines of all products: found, built by the product's own rule, and described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import InvalidTargetException

from pants_enginewright.build_files import addresses
from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.engines.product import BuildEngine, BuiltEngine, Candidate
from pants_enginewright.environments.tool_environment import ToolEnvironment
from pants_enginewright.environments.tools import Tools, ToolsRequest
from pants_enginewright.models.model_source import SourceFile
from pants_enginewright.models.targets import TokenizerField
from pants_enginewright.provenance.documents import DOCUMENTS, SIGNATURE
from pants_enginewright.steps import action
from pants_enginewright.steps.action import (
    ActionInput,
    ActionRequest,
    ActionResult,
)
from pants_enginewright.steps.files import ComposeFiles, File, Files
from pants_enginewright.steps.step_outputs import RESULT

WRITTEN = ("engine.json", "README.md")
"""What the product's `describe` writes."""
RESERVED = (*WRITTEN, *DOCUMENTS, SIGNATURE)


@dataclass(frozen=True)
class EngineRequest(NamedTarget):
    """Asks for the engine of a target of any product."""


@dataclass(frozen=True)
class Engine:
    kind: BuildEngine
    built: BuiltEngine
    package: Files
    """Everything that belongs into dist/."""
    steps: Tuple[ActionResult, ...]

    @property
    def address(self) -> Address:
        return self.kind.address

    @property
    def runs_here(self) -> bool:
        """Whether it needs no device."""
        return not self.kind.needs_device

    @property
    def candidate(self) -> Optional[Candidate]:
        """What a test measures: the engine itself where it runs on this host."""
        return self.packaged if self.runs_here else self.built.candidate

    @property
    def packaged(self) -> Candidate:
        """The engine itself, where it runs."""
        package = ActionInput.of("package", self.package, "package")
        return Candidate((package,), room=self.kind.room)

    def describe_sizes(self) -> Optional[str]:
        """For people: what was estimated and what came out; None where nothing was estimated."""
        sizes = self.built.estimate.sizes
        if sizes is None:
            return None
        actual = sum(file.size for file in self.built.artifacts.entries)
        return sizes.describe(actual, self.kind.size_is_estimated)


@dataclass(frozen=True)
class DescribeEngine:
    kind: BuildEngine
    built: BuiltEngine


@dataclass(frozen=True)
class DescribedEngine:
    package: Files
    step: ActionResult


@rule
async def find_engine(request: EngineRequest) -> Engine:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(BuildEngine))
    kind = found.of(BuildEngine)
    built = await Get(BuiltEngine, BuildEngine, kind)
    described = await Get(DescribedEngine, DescribeEngine(kind, built))
    steps = (*built.source.steps, *built.steps, described.step)
    return Engine(kind, built, described.package, steps)


def plan_package(built: BuiltEngine) -> Dict[str, File]:
    """The files that engine.json describes, by their paths in the package.

    Those of the checkpoint have the paths that they have there.
    """
    serving, own = built.source.serving.by_path(), built.artifacts.by_path()
    taken = sorted({*serving} & {*own, *RESERVED})
    if taken:
        raise InvalidTargetException(
            f"field `{TokenizerField.alias}` of the checkpoint of {built.source.address}: the "
            f"package has files of its own with these names: {', '.join(taken)}"
        )
    return {
        **serving,
        **{
            kernel.shipped_path(file): file
            for kernel in built.kernels
            for file in kernel.files.entries
        },
        **own,
    }


def plan_inputs(
    built: BuiltEngine, tools: Iterable[Tuple[str, ToolEnvironment]]
) -> List[Dict[str, Any]]:
    """Provenance: every input of the build by role and address, with its content."""
    pins = built.toolchain
    rows = [
        *built.source.files,
        *(() if pins is None else (SourceFile.of_toolchain(pins),)),
        *(
            SourceFile(role, environment.address, wheel)
            for role, environment in tools
            for wheel in environment.wheels.entries
        ),
    ]
    return [row.described() for row in rows]


def plan_description(
    kind: BuildEngine,
    built: BuiltEngine,
    result: Files,
    shipped: Dict[str, File],
    inputs: List[Dict[str, Any]],
) -> ActionRequest:
    """The step that writes engine.json and README.md."""
    source, toolchain = built.source, built.toolchain
    length, generation = source.length, source.generation
    return ActionRequest.create(
        "write_manifest",
        module=f"{kind.room}.describe",
        address=kind.address,
        inputs=[ActionInput.of("build", result)],
        parameters={
            "name": kind.address.target_name,
            "task": source.task,
            "source": {"kind": source.kind, "address": str(source.address)},
            "files": {name: file.described() for name, file in shipped.items()},
            "inputs": inputs,
            "plugins": [one.described() for one in source.replaced],
            "kernels": [kernel.described() for kernel in built.kernels],
            "size_estimate": built.estimate.described(),
            "length": None if length is None else length.described(),
            "generation": None if generation is None else generation.described(),
            "toolchain": None if toolchain is None else toolchain.described(),
        },
        fresh=kind.fresh,
    )


@rule(desc="Describe an engine package")
async def describe_engine(request: DescribeEngine) -> DescribedEngine:
    kind, built = request.kind, request.built
    wanted = {"builder": ToolsRequest(built.build.environment, built.build.tool_environment)}
    if built.source.exporter is not None:
        wanted = {"exporter": ToolsRequest(built.source.exporter, None), **wanted}
    found = await MultiGet(Get(Tools, ToolsRequest, tools) for tools in wanted.values())
    shipped = plan_package(built)
    result = await Get(Files, ComposeFiles, ComposeFiles.named(built.result.files.entries, RESULT))
    tools = [(role, found[index].environment) for index, role in enumerate(wanted)]
    inputs = plan_inputs(built, tools)
    step = await Get(
        ActionResult, ActionRequest, plan_description(kind, built, result, shipped, inputs)
    )
    written = step.files.by_path()
    own = {name: written[name] for name in WRITTEN}
    entries = tuple(file.at(name) for name, file in {**shipped, **own}.items())
    return DescribedEngine(await Get(Files, ComposeFiles(entries)), step)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *addresses.rules(),
        *action.rules(),
    )

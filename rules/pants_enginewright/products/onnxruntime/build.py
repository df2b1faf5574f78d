"""`onnxruntime_engine`: a model optimized for ONNX Runtime, which runs on any processor."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Iterable, Optional

from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import InvalidTargetException
from pants.util.frozendict import FrozenDict

from pants_enginewright import canonical_json
from pants_enginewright.build_files.kind import Steps
from pants_enginewright.engines import engine, model_build
from pants_enginewright.engines.model_build import BuildFromModel, ModelBuild
from pants_enginewright.engines.product import BuildEngine, BuiltEngine
from pants_enginewright.engines.targets import ModelField, OperatorsField
from pants_enginewright.environments.tools import Tools, ToolsRequest
from pants_enginewright.kernels import compilation
from pants_enginewright.kernels.compilation import CompiledCode, CompileOperators, CompileRequest
from pants_enginewright.models.model_source import ModelSource
from pants_enginewright.models.onnx_model import OnnxModelRequest
from pants_enginewright.products.onnxruntime.targets import (
    GraphOptimizationField,
    ProviderField,
    QuantizedMatmulField,
)
from pants_enginewright.steps.action import ActionInput, ActionRequest
from pants_enginewright.steps.files import ComposeFiles, Files

ENVIRONMENT = "run"
"""Kind of the tool environment that optimizes an engine, and runs it."""
READER = "onnxruntime"
OPERATORS = "operators.so"
"""The library of operators, as the step that builds puts it out."""


def name_reader(wheels: Files) -> Optional[str]:
    """`onnxruntime 1.32.0` by its wheel, as the library's table of readers calls it."""
    names = [wheel.name.split("-") for wheel in wheels.entries]
    return next((f"{name} {version}" for name, version, *_ in names if name == READER), None)


@dataclass(frozen=True)
class BuildOnnxruntimeEngine(BuildEngine):
    """An `onnxruntime_engine` target."""

    required_fields = (ModelField, ProviderField)
    product = "onnxruntime"
    runs_in = ENVIRONMENT

    model: ModelField
    provider: ProviderField
    optimization_level: GraphOptimizationField
    quantized_matmul: QuantizedMatmulField
    operators: OperatorsField

    @property
    def steps(self) -> Steps:
        own = Steps.of_product(self.product, environments=(ENVIRONMENT,))
        # What a test measures, and `run` starts.
        return model_build.STEPS + own + Steps((f"{self.room}.backend",))

    def plan(self, operators: Optional[Files]) -> ActionRequest:
        """The step that optimizes the model."""
        library = () if operators is None else (ActionInput.of("operators", operators),)
        return ActionRequest.create(
            "build_onnxruntime_engine",
            module="enginewright.products.onnxruntime.build",
            address=self.address,
            environment=ENVIRONMENT,
            inputs=library,
            parameters={
                "provider": self.provider.value,
                "optimization_level": self.optimization_level.value,
                "quantized_matmul": self.quantized_matmul.value,
            },
            fresh=self.fresh,
        )


@dataclass(frozen=True)
class _File:
    sha256: str
    size: int


@dataclass(frozen=True)
class _Optimized:
    files: FrozenDict[str, _File]
    """By their names, which are those in the package."""


@dataclass(frozen=True)
class _Library:
    interface: str


def raise_if_another_interface(fields: BuildOnnxruntimeEngine, library: CompiledCode) -> None:
    """Refuse a library that another runtime loads, before anything is built with it."""
    found = library.step.read(_Library).interface
    if found != READER:
        raise InvalidTargetException(
            f"field `{fields.operators.alias}` of {fields.address}: {library.address} has the "
            f'interface "{found}"; expected one with interface="{READER}"'
        )


@rule(desc="Build an engine for ONNX Runtime")
async def build_onnxruntime_engine(fields: BuildOnnxruntimeEngine) -> BuiltEngine:
    named = OnnxModelRequest.by_field(fields.model, fields.fresh)
    tools = await Get(Tools, ToolsRequest(ENVIRONMENT, None))
    reader = canonical_json.dumps(name_reader(tools.environment.wheels))
    library = None
    if fields.operators.value is not None:
        origin = f"field `{fields.operators.alias}` of {fields.address}"
        asked = CompileRequest(
            fields.operators.value, origin, fields.address, kind=CompileOperators
        )
        library = await Get(CompiledCode, CompileRequest, asked)
        raise_if_another_interface(fields, library)
    plan = fields.plan(None if library is None else library.files)
    built = await Get(ModelBuild, BuildFromModel(fields.address, named, plan, reader))
    names = built.result.read(_Optimized).files
    optimized = await Get(
        Files, ComposeFiles, ComposeFiles.named(built.result.files.entries, *names)
    )
    source = ModelSource.of_model(built.model)
    if library is not None:
        kept = (dataclasses.replace(one, library=OPERATORS) for one in source.replaced)
        source = dataclasses.replace(source, replaced=tuple(kept))
    return BuiltEngine(
        source=source,
        build=built.build,
        result=built.result,
        artifacts=optimized,
        steps=(*built.steps, *(() if library is None else (library.step,))),
        estimate=built.estimate,
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *BuildOnnxruntimeEngine.rules(),
        *engine.rules(),
        *model_build.rules(),
        *compilation.rules(),
    )

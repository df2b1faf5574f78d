"""`onnxruntime_engine`: a model optimized for ONNX Runtime, which runs on any processor."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Optional

from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import Target

from pants_enginewright import canonical_json
from pants_enginewright.engines.engine import (
    BuildOnnxruntimeEngine,
    Candidate,
    Engine,
    OnnxruntimeEngine,
    plan_inputs,
)
from pants_enginewright.engines.size_estimate import EstimateSize, SizeEstimate
from pants_enginewright.engines.targets import (
    GraphOptimizationField,
    ModelField,
    ProviderField,
    QuantizedMatmulField,
)
from pants_enginewright.models.model_check import plan_graph_check, plan_weights_check
from pants_enginewright.models.onnx_model import OnnxModel, OnnxModelRequest
from pants_enginewright.steps.action import (
    ActionInput,
    ActionRequest,
    ActionResult,
    Tools,
    ToolsRequest,
)
from pants_enginewright.steps.files import ComposeFiles, File, Files

ENVIRONMENT = "run"
"""Kind of the tool environment that optimizes an engine, and runs it."""
READER = "onnxruntime"


def name_reader(wheels: Files) -> Optional[str]:
    """`onnxruntime 1.32.0` by its wheel, as the library's table of readers calls it."""
    names = [wheel.name.split("-") for wheel in wheels.entries]
    return next((f"{name} {version}" for name, version, *_ in names if name == READER), None)


def plan_onnxruntime_build(target: Target, model: OnnxModel) -> ActionRequest:
    """The step that optimizes the model."""
    return ActionRequest.create(
        "build_onnxruntime_engine",
        module="enginewright.products.onnxruntime.build",
        address=target.address,
        environment=ENVIRONMENT,
        inputs=model.inputs,
        parameters={
            "provider": target[ProviderField].value,
            "optimization_level": target[GraphOptimizationField].value,
            "quantized_matmul": target[QuantizedMatmulField].value,
        },
    )


def plan_files(build: ActionResult, tokenizer: Files) -> Dict[str, File]:
    """Files of the package that the manifest describes, by their names in it."""
    outputs = build.files.by_path()
    built = {name: outputs[name] for name in build.parsed()["files"]}
    return {**{file.name: file for file in tokenizer.entries}, **built}


def plan_manifest(
    target: Target,
    model: OnnxModel,
    build_result: Files,
    shipped: Dict[str, File],
    inputs: Any,
    estimate: SizeEstimate,
) -> ActionRequest:
    """The step that writes engine.json and README.md."""
    return ActionRequest.create(
        "write_manifest",
        module="enginewright.products.onnxruntime.describe",
        address=target.address,
        inputs=[ActionInput.of("build", build_result)],
        parameters={
            "name": target.address.target_name,
            "task": model.task,
            "files": {name: file.described() for name, file in shipped.items()},
            "inputs": inputs,
            "length": model.checkpoint.summary()["length"],
            "size_estimate": estimate.parsed(),
        },
    )


@rule(desc="Build an engine for ONNX Runtime")
async def build_onnxruntime_engine(request: BuildOnnxruntimeEngine) -> OnnxruntimeEngine:
    target = request.target
    address = target.address
    model = await Get(OnnxModel, OnnxModelRequest, OnnxModelRequest.by_field(target[ModelField]))
    builder = await Get(Tools, ToolsRequest(ENVIRONMENT, None))
    check = plan_graph_check(model, name_reader(builder.environment.wheels))
    build = plan_onnxruntime_build(target, model)
    graph_check = await Get(ActionResult, ActionRequest, check)
    weights_check, built, estimate, exporter = await MultiGet(
        Get(ActionResult, ActionRequest, plan_weights_check(model)),
        Get(ActionResult, ActionRequest, build),
        Get(SizeEstimate, EstimateSize(address, model, canonical_json.dumps([]))),
        Get(Tools, ToolsRequest(model.environment, None)),
    )
    shipped = plan_files(built, model.checkpoint.tokenizer)
    names = tuple(built.parsed()["files"])
    build_result = await Get(
        Files, ComposeFiles, ComposeFiles.named(built.files.entries, "result.json")
    )
    inputs = plan_inputs(model, exporter.environment, builder.environment)
    written = await Get(
        ActionResult,
        ActionRequest,
        plan_manifest(target, model, build_result, shipped, inputs, estimate),
    )
    own = {name: written.files.by_path()[name] for name in ("engine.json", "README.md")}
    package = await Get(
        Files, ComposeFiles(tuple(f.at(name) for name, f in {**shipped, **own}.items()))
    )
    steps = (graph_check, weights_check, *estimate.steps, built, written)
    candidate = Candidate((ActionInput.of("package", package, "package"),))
    return OnnxruntimeEngine(
        Engine(
            address,
            model,
            candidate,
            package,
            build,
            names,
            estimate,
            (*model.steps, *steps),
        )
    )


def rules() -> Iterable[Any]:
    return collect_rules()

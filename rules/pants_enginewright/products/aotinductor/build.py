"""`aotinductor_engine`: a decoder compiled ahead of time, for a GPU that need not be here."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Iterable, Optional

from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright.build_files.kind import Steps
from pants_enginewright.engines import engine
from pants_enginewright.engines.product import BuildEngine, BuiltEngine
from pants_enginewright.kernels import compilation
from pants_enginewright.kernels.compilation import HostCompiler, HostCompilerRequest
from pants_enginewright.models import checkpoint
from pants_enginewright.models.checkpoint import Checkpoint, CheckpointRequest
from pants_enginewright.models.model_source import ModelSource
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.products.aotinductor import gpu
from pants_enginewright.products.aotinductor.gpu import Gpu, GpuRequest
from pants_enginewright.products.aotinductor.targets import (
    EngineCheckpointField,
    EngineDtypeField,
    GpuField,
    MaxBatchField,
    MaxSequenceField,
    MaxTokensField,
)
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files

ENVIRONMENT = "torch_compiler"
"""Kind of the tool environment that compiles an engine, and runs it."""
TASK = next(task for task in TASKS.values() if task.has_cache)
"""The one that the compiled module does."""
COMPILED = ("engine.pt2", "constants.safetensors")


@dataclass(frozen=True)
class BuildAotInductorEngine(BuildEngine):
    """An `aotinductor_engine` target."""

    required_fields = (EngineCheckpointField, GpuField)
    product = "aotinductor"
    runs_in = ENVIRONMENT
    measured_in = "torch_validate"

    checkpoint: EngineCheckpointField
    gpu: GpuField
    dtype: EngineDtypeField
    max_batch: MaxBatchField
    max_sequence: MaxSequenceField
    max_tokens: MaxTokensField

    @property
    def steps(self) -> Steps:
        own = Steps.of_product(self.product, environments=(ENVIRONMENT, self.measured_in))
        # What a test measures, and `run` starts.
        opened = Steps((f"{self.room}.backend",))
        return own + opened + Steps.of("convert_weights", environments=("onnx",))

    @property
    def needs_device(self) -> bool:
        return self.gpu.value is not None

    def plan(
        self, checkpoint: Checkpoint, gpu: Optional[Gpu], compiler: HostCompiler
    ) -> ActionRequest:
        """The step that compiles."""
        return ActionRequest.create(
            "compile_engine",
            module="enginewright.products.aotinductor.build",
            address=self.address,
            environment=ENVIRONMENT,
            inputs=[ActionInput.of("config", checkpoint.config)],
            parameters={
                "task": TASK.name,
                "dtype": self.dtype.value,
                "limits": {
                    "batch": self.max_batch.value,
                    "sequence": self.max_sequence.value,
                    "reach": self.max_tokens.value,
                },
                "gpu": None if gpu is None else json.loads(gpu.text),
                "host_compiler": {"name": "gcc", "version": compiler.version},
                "tuning": {},
            },
            fresh=self.fresh,
        )

    def plan_weights(self, checkpoint: Checkpoint) -> ActionRequest:
        """The step that brings the weights to the engine's type."""
        return ActionRequest.create(
            "convert_weights",
            address=self.address,
            environment="onnx",
            inputs=[
                ActionInput.of("weights", checkpoint.weights),
                ActionInput.of("descriptor", checkpoint.descriptor),
            ],
            parameters={"dtype": self.dtype.value},
            fresh=self.fresh,
        )


@rule(desc="Compile an engine with AOTInductor")
async def build_aotinductor_engine(fields: BuildAotInductorEngine) -> BuiltEngine:
    source = await Get(Checkpoint, CheckpointRequest, CheckpointRequest.by_field(fields.checkpoint))
    compiler = await Get(HostCompiler, HostCompilerRequest())
    device = None
    if fields.gpu.value is not None:
        device = await Get(Gpu, GpuRequest, GpuRequest.by_field(fields.gpu))
    build = fields.plan(source, device, compiler)
    compiled, converted = await MultiGet(
        Get(ActionResult, ActionRequest, build),
        Get(ActionResult, ActionRequest, fields.plan_weights(source)),
    )
    artifacts, weights = await MultiGet(
        Get(Files, ComposeFiles, ComposeFiles.named(compiled.files.entries, *COMPILED)),
        Get(Files, ComposeFiles, ComposeFiles.under("weights", converted.files)),
    )
    model = ModelSource.of_checkpoint(source, TASK.name)
    serving = await Get(Files, ComposeFiles((*model.serving.entries, *weights.entries)))
    return BuiltEngine(
        source=dataclasses.replace(model, serving=serving),
        build=build,
        result=compiled,
        artifacts=artifacts,
        steps=(compiled, converted),
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *BuildAotInductorEngine.rules(),
        *checkpoint.rules(),
        *compilation.rules(),
        *engine.rules(),
        *gpu.rules(),
    )

"""What an engine is made of: an ONNX model, or a checkpoint that its product reads itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from pants.engine.addresses import Address

from pants_enginewright.environments.toolchain import Toolchain
from pants_enginewright.models.checkpoint import Checkpoint
from pants_enginewright.models.onnx_model import OnnxModel, ReplacedSubgraphs
from pants_enginewright.models.origin import Generation, LengthLimit, Origin
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.files import File, Files


@dataclass(frozen=True)
class SourceFile:
    """An input of a build, for the provenance in `engine.json`."""

    role: str
    address: Optional[Address]
    file: File

    @classmethod
    def of_toolchain(cls, toolchain: Toolchain) -> SourceFile:
        return cls("toolchain", toolchain.address, toolchain.source)

    def described(self) -> Dict[str, Any]:
        return {
            "role": self.role,
            "address": str(self.address),
            "path": self.file.path,
            **self.file.described(),
        }


@dataclass(frozen=True)
class ModelSource:
    kind: str
    """`onnx` or `checkpoint`."""
    address: Address
    task: str
    length: Optional[LengthLimit]
    """The longest context of the model, where its configuration says so."""
    serving: Files
    """Files that serving needs beside the engine, such as the tokenizer."""
    files: Tuple[SourceFile, ...]
    """All that it was made of."""
    exporter: Optional[str]
    """Kind of the tool environment that exported it; None where nothing was."""
    replaced: Tuple[ReplacedSubgraphs, ...]
    """Where its graph has operators of our own."""
    steps: Tuple[ActionResult, ...]
    generation: Optional[Generation] = None
    """Tokens that end and begin a text; None for a model that generates none."""

    @classmethod
    def of_model(cls, model: OnnxModel) -> ModelSource:
        graph = (*model.graph.entries, *model.data.entries)
        files = (
            *_sources(model.origin),
            *(SourceFile("onnx", model.address, file) for file in graph),
        )
        return cls(
            "onnx",
            model.address,
            model.task,
            model.origin.length,
            model.origin.serving,
            files,
            model.environment,
            model.replaced,
            model.steps,
            _generation(model.origin, model.task),
        )

    @classmethod
    def of_checkpoint(cls, checkpoint: Checkpoint, task: str) -> ModelSource:
        return cls(
            "checkpoint",
            checkpoint.address,
            task,
            checkpoint.summary.length,
            checkpoint.tokenizer,
            _sources(checkpoint.origin),
            None,
            (),
            checkpoint.steps,
            _generation(checkpoint.origin, task),
        )


def _generation(origin: Origin, task: str) -> Optional[Generation]:
    found = TASKS.get(task)
    is_decoder = found is not None and found.is_decoder
    return origin.generation if is_decoder else None


def _sources(origin: Origin) -> Tuple[SourceFile, ...]:
    return tuple(SourceFile(role, origin.address, file) for role, file in origin.sources)

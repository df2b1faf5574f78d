"""A model and a checkpoint as the rules know them, for tests."""

from __future__ import annotations

import json
from typing import Any, Optional

from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants_enginewright.models.checkpoint import Checkpoint, CheckpointSummary
from pants_enginewright.models.onnx_model import OnnxModel, Scheme
from pants_enginewright.models.origin import Generation, LengthLimit
from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.files import File, Files

HERE = Address("here", target_name="it")
CONFIG = Files(Digest("1" * 64, 10), (File("config.json", "a" * 64, 100),))
GRAPH = Files(Digest("2" * 64, 20), (File("model.onnx", "b" * 64, 200),))
DATA = Files(Digest("3" * 64, 30), (File("model.safetensors", "c" * 64, 300),))
TOKENIZER = Files(Digest("4" * 64, 40), (File("tokenizer/tokenizer.json", "d" * 64, 400),))
RECORD = Files(Digest("5" * 64, 50), (File("onnx.json", "e" * 64, 500),))
LENGTH = LengthLimit(1024, "max_position_embeddings")


def result(action: str, document: Any, files: Files = GRAPH) -> ActionResult:
    metadata: Any = None
    return ActionResult(action, "here:it", "e" * 64, files, json.dumps(document), "", metadata)


def checkpoint(kind: str = "decoder") -> Checkpoint:
    summary = CheckpointSummary(kind, LENGTH, Generation((0, 14), ()))
    return Checkpoint(HERE, CONFIG.entries[0], CONFIG, CONFIG, DATA, TOKENIZER, summary, ())


def model(
    task: str = "text-generation-with-past",
    kind: str = "decoder",
    scheme: Optional[Scheme] = None,
) -> OnnxModel:
    return OnnxModel(
        HERE,
        checkpoint(kind).origin,
        task,
        "float16",
        "last",
        "onnx",
        GRAPH,
        DATA,
        RECORD,
        (),
        scheme,
    )

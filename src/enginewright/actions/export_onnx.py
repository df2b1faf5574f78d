"""Step: export a checkpoint to ONNX with torch.

Inputs: `config` (the normalised one of `verify_checkpoint`), `weights` (its safetensors files; an
index is ignored), `embedding` (its embedding.json; for embeddings only), `dense` (weights of layers
after the pooling, where the recipe has some). Parameters: `ExportSpec`.
Outputs: `onnx.json`, `model/model.onnx`, `model/model.onnx.data`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.checkpoint.config import OtherConfig, parse_config
from enginewright.checkpoint.embedding import EmbeddingDescription, read_embedding
from enginewright.checkpoint.length_limit import length_limit
from enginewright.checkpoint.safetensors_header import read_header
from enginewright.checkpoint.verify import INDEX_SUFFIX, STORED_DTYPES
from enginewright.document import read
from enginewright.exporters.torch.clean import Clean
from enginewright.exporters.torch.dense import load_dense
from enginewright.exporters.torch.export import TaskModule, check_task, export, task_module
from enginewright.exporters.torch.load_model import load_model
from enginewright.exporters.torch.spec import ExportSpec
from enginewright.onnx_model.axes import check_axes
from enginewright.onnx_model.write_model import write_model
from enginewright.passes.transformation import apply
from enginewright.progress import report
from enginewright.step import ActionRequest, Result, main
from enginewright.tasks.registry import find_task

STEP = "export_onnx"


def run(request: ActionRequest, outputs: Path) -> Result:
    spec = request.decode(ExportSpec)
    config_file = request.file("config")
    weights = [
        file for file in request.files("weights") if not file.path.name.endswith(INDEX_SUFFIX)
    ]
    for file in (config_file, *weights):
        file.verify()
    content = canonical_json.read_object(config_file.path)
    config = parse_config(content, str(config_file.path))
    task = find_task(spec.task, "parameter `task`")
    check_task(config, task)
    embedding = _embedding(request)
    report(STEP, f"loading {config.architecture} as {spec.dtype}")
    paths = [file.path for file in weights]
    # A recipe for embeddings is one for the states of tokens: the class's head has no part in it.
    model, dropped = load_model(config, content, paths, spec.dtype, headless=task.has_recipe)
    module = task_module(model, config, task, embedding)
    if task.has_recipe:
        _add_dense(module, embedding, request)
    report(STEP, f"tracing at opset {spec.opset}")
    limit = length_limit(content)
    graph = export(module, config, spec, None if limit is None else limit.tokens)
    report(STEP, "writing the graph and its weights")
    cleaned = apply(Clean(), graph, "the traced graph")
    record = write_model(cleaned.model, outputs)
    check_axes(record, module.signature.axes())
    warnings = [*dropped]
    if isinstance(config, OtherConfig):
        warnings.append(
            f"`{config.architecture}` is exported in the generic form: torch traces the library's "
            "own code, and only an `engine_test` with this checkpoint as reference shows that the "
            "numbers are right"
        )
    if spec.dtype == "float16" and any(_holds_bfloat16(file.path) for file in weights):
        warnings.append(
            "the weights were trained in bfloat16, as they are stored: activations may exceed the "
            "range of float16; compare the results, or export as bfloat16"
        )
    return {
        "task": spec.task,
        "dtype": spec.dtype,
        "warnings": warnings,
    }


def _add_dense(module: TaskModule, embedding: EmbeddingDescription, request: ActionRequest) -> None:
    """The layers that the recipe has after its pooling."""
    paths = {}
    for file in request.inputs.get("dense", ()):
        file.verify()
        paths[f"{file.path.parent.name}/{file.path.name}"] = file.path
    layers = [load_dense(layer, paths) for layer in embedding.required().dense]
    if layers:
        module.dense.extend(layers)


def _embedding(request: ActionRequest) -> EmbeddingDescription:
    """How embeddings are made; a checkpoint without that part has no recipe."""
    if not request.inputs.get("embedding"):
        return read_embedding({})
    file = request.file("embedding")
    file.verify()
    return read(EmbeddingDescription, file.path)


def _holds_bfloat16(path: Path) -> bool:
    return any(tensor.dtype == STORED_DTYPES["bfloat16"] for tensor in read_header(path).tensors)


if __name__ == "__main__":
    main(run)

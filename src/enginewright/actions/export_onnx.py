"""Step: export a checkpoint to ONNX with torch.

Inputs: `config` (the normalised one of `verify_checkpoint`), `weights` (its safetensors files; an
index is ignored), `embedding` (its embedding.json; for embeddings only). Parameters: `ExportSpec`.
Outputs: `onnx.json`, `model/model.onnx`, `model/model.onnx.data`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.checkpoint.config import parse_config
from enginewright.checkpoint.embedding import EmbeddingDescription, read_embedding
from enginewright.checkpoint.safetensors_header import read_header
from enginewright.checkpoint.verify import INDEX_SUFFIX, STORED_DTYPES
from enginewright.document import read
from enginewright.exporters.torch.clean import Clean
from enginewright.exporters.torch.export import check_task, export, task_module
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
    model = load_model(config, content, [file.path for file in weights], spec.dtype)
    module = task_module(model, config, task, embedding)
    report(STEP, f"tracing at opset {spec.opset}")
    graph = export(module, config, spec)
    report(STEP, "writing the graph and its weights")
    cleaned = apply(Clean(), graph, "the traced graph")
    record = write_model(cleaned.model, outputs)
    check_axes(record, module.signature.axes())
    warnings = []
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

"""Step: export a checkpoint to ONNX with torch.

Inputs: `config` (the normalised one of `verify_checkpoint`), `weights` (its safetensors files; an
index is ignored). Parameters: `ExportSpec`. Outputs: `onnx.json`, `model/model.onnx`,
`model/model.onnx.data`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.checkpoint.config import parse_config
from enginewright.checkpoint.verify import INDEX_SUFFIX
from enginewright.exporters.torch.clean import Clean
from enginewright.exporters.torch.export import check_task, export, task_module
from enginewright.exporters.torch.load_model import check_support, load_model
from enginewright.exporters.torch.spec import ExportSpec
from enginewright.exporters.torch.write_model import write_model
from enginewright.onnx_model.axes import check_axes
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
    document = canonical_json.read_object(config_file.path)
    config = parse_config(document, str(config_file.path))
    check_support(config)
    task = find_task(spec.task, "parameter `task`")
    check_task(config, task)
    report(STEP, f"loading {config.architecture} as {spec.dtype}")
    model = load_model(config, document, [file.path for file in weights], spec.dtype)
    module = task_module(model, config, task)
    report(STEP, f"tracing at opset {spec.opset}")
    graph = export(module, config, spec)
    report(STEP, "writing the graph and its weights")
    cleaned = apply(Clean(), graph, "the traced graph")
    record = write_model(cleaned.model, outputs)
    check_axes(record, module.signature.axes())
    warnings = []
    if config.dtype == "bfloat16" and spec.dtype == "float16":
        warnings.append(
            "the weights were trained in bfloat16 (`dtype` in config.json): activations may exceed "
            "the range of float16; compare the results, or export as bfloat16"
        )
    return {
        "task": spec.task,
        "dtype": spec.dtype,
        "warnings": warnings,
    }


if __name__ == "__main__":
    main(run)

"""The build of `engines:qwen3_fp16` as an engineer would script it: one process, no build system.

    python benchmarks/plain_build.py CHECKPOINT TOOLCHAIN OUTPUTS

Loads the checkpoint, exports it with torch, checks the graph and builds the plan: the same work as
`./pants package engines:qwen3_fp16`, with the same library. `benchmarks/overhead.py` measures the
two side by side, and checks that both make the same plan.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.actions.check_graph import Parameters, run_checks
from enginewright.checkpoint.config import parse_config
from enginewright.checkpoint.embedding import read_embedding
from enginewright.checks.external_data import external_tensors
from enginewright.checks.findings import Findings
from enginewright.checks.weight_values import check_weight_values
from enginewright.errors import raise_if_any
from enginewright.exporters.torch.clean import Clean
from enginewright.exporters.torch.export import export, task_module
from enginewright.exporters.torch.load_model import load_model
from enginewright.exporters.torch.spec import ExportSpec
from enginewright.onnx_model.reader import read_model
from enginewright.onnx_model.reader_limits import Reader
from enginewright.onnx_model.record import OnnxRecord
from enginewright.onnx_model.write_model import write_model
from enginewright.onnx_model.writing import FOLDER, GRAPH
from enginewright.passes.transformation import apply
from enginewright.products.tensorrt.builder import build
from enginewright.products.tensorrt.options import BuildRequest
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX
from enginewright.tasks.registry import TASKS

# As models/qwen3/BUILD and engines/BUILD say.
SPEC = ExportSpec(
    task="text-generation",
    opset=23,
    dtype="float16",
)
LENGTH = 1024
ENGINE: dict[str, Any] = {
    "profiles": [{"batch": [1, 1, 8], "sequence": [1, 128, 1024]}],
    "compute_capabilities": ["8.6", "8.9", "12.0"],
}


def export_model(checkpoint: Path, outputs: Path) -> OnnxRecord:
    config_path = checkpoint / "config.json"
    document = canonical_json.read_object(config_path)
    config = parse_config(document, str(config_path))
    model, _ = load_model(config, document, [checkpoint / "model.safetensors"], SPEC.dtype)
    graph = export(task_module(model, config, TASKS[SPEC.task], read_embedding({})), config, SPEC)
    return write_model(apply(Clean(), graph, "the traced graph").model, outputs)


def check_model(model_path: Path, record: OnnxRecord, reader: Reader) -> None:
    checked = read_model(model_path)
    parameters = Parameters(("batch", "sequence"), SPEC.dtype, reader, LENGTH)
    findings = Findings.join(run_checks(checked, record, parameters).values())
    raise_if_any(findings.problems)
    tensors, _ = external_tensors(checked.model, checked.where)
    files = {tensor.location: model_path.parent / tensor.location for tensor in tensors}
    weights = check_weight_values(tensors, files, checked.where, SPEC.dtype)
    raise_if_any(weights.problems)


def main() -> None:
    checkpoint, toolchain_path, outputs = (Path(argument) for argument in sys.argv[1:])
    pins = tomllib.loads(toolchain_path.read_text(encoding="utf-8"))
    toolchain = {key: pins[key] for key in ("product", "version", "libraries")}
    outputs.mkdir(parents=True)
    model_path = outputs / FOLDER / GRAPH
    record = export_model(checkpoint, outputs)
    check_model(model_path, record, Reader(pins["product"], **pins["onnx"]))
    request = BuildRequest.decode({**ENGINE, "toolchain": toolchain}, TENSORRT_RTX)
    build(TENSORRT_RTX, request, model_path, record, outputs / "engine.plan", lambda: None)


if __name__ == "__main__":
    main()

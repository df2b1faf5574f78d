"""Step: replace subgraphs of an ONNX model by operators that have kernels of their own.

Inputs: `model` (one `.onnx` file; its external data may come along and is not opened).
Parameters: `plugins` (names, see `passes.replace.OPERATORS`) and `mode` (`kernel` or `inline`).
Outputs: `model/model.onnx` and `onnx.json`. The graph names the same external data as the input
did; the record lists those files, which belong beside it.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.onnx_model.files import find_model
from enginewright.passes.operators.operator import DOMAIN, DOMAIN_VERSION
from enginewright.passes.replace import ReplaceSubgraphs
from enginewright.passes.transform_file import transform_file
from enginewright.progress import report
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    path = find_model([file.path for file in request.files("model")])
    plugins = request.parameters.get("plugins", [])
    mode = request.parameters.get("mode", "kernel")
    report("replace_subgraphs", f"{', '.join(plugins)} in {path.name}")
    replaced = transform_file(path, outputs, ReplaceSubgraphs(tuple(plugins), mode))
    return {
        "mode": mode,
        "domain": {"name": DOMAIN, "version": DOMAIN_VERSION} if mode == "kernel" else None,
        "replaced": [one.to_json() for one in replaced],
    }


if __name__ == "__main__":
    main(run)

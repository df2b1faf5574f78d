"""The files that a report is made of: a package, a record, a test, a checkpoint, each twice."""

from __future__ import annotations

import copy
import json
import struct
from pathlib import Path
from typing import Any

from engine_document import PLAN_DOCUMENT

from enginewright.report.package import ReportRequest

ESTIMATE = {
    "dtype": "float16",
    "engine_bytes": 1000,
    "tolerance_bytes": 50,
    "kv_bytes_per_token": 8,
    "profiles": [
        {
            "batch": 4,
            "sequence": 16,
            "past_sequence": 0,
            "activation_bytes": 300,
            "input_output_bytes": 200,
            "kv_cache_bytes": 0,
            "device_bytes": 30 << 30,
        }
    ],
}
RUN = {
    "name": "rows",
    "sequence_length": 17,
    "rows": 136,
    "mean_cosine_similarity": 0.5,
    "perplexity": 21.25,
    "reference_perplexity": 20.5,
}
ACCURACY = {
    "passed": True,
    "verdicts": [
        {
            "measure": "mean_cosine_similarity",
            "measured": 0.5,
            "bound": 0.25,
            "relation": ">=",
            "where": "run 1, rows",
            "is_default": False,
            "passed": True,
        }
    ],
    "contradictions": [],
    "measurements": {
        "candidate": {"measured": "the packaged engine"},
        "reference": {"library": "PyTorch"},
        "coverage": {"not_reached": ["1025 tokens and more"]},
        "runs": [RUN],
        "total": {"rows": 136, "mean_cosine_similarity": 0.5},
        "notes": [],
    },
}
QUANTIZED = [
    {
        "name": f"model.layers.0.self_attn.{name}.weight",
        "bytes_before": 98304,
        "bytes_after": after,
        "relative_error": error,
        "kept": kept,
    }
    for name, after, error, kept in (("q", 27648, 0.25, ""), ("k", 98304, 0.0, "a pattern"))
]


def step(action: str, address: str, source: str, key: str = "k") -> dict[str, Any]:
    return {
        "action": action,
        "address": address,
        "key": key,
        "outputs": "o",
        "from": source,
        "bytes": 1234,
        "milliseconds": 1500,
    }


STEPS = [
    step("build_engine", "engines:qwen3_fp16", "ran here"),
    step("export_onnx", "models/qwen3:fp16", "local cache"),
    step("build_engine", "engines:another", "ran here"),
]


def make_files(folder: Path, **changes: Any) -> ReportRequest:
    """Into the folder; `changes` are of the package's document."""
    package, other, checkpoint = (folder / name for name in ("package", "other", "checkpoint"))
    for path in (package, other, checkpoint):
        path.mkdir()
    document = {**copy.deepcopy(PLAN_DOCUMENT), "size_estimate": ESTIMATE, **changes}
    (package / "engine.json").write_text(json.dumps(document))
    document["name"] = "an older one"
    document["files"]["engine.plan"]["sha256"] = "e" * 64
    (other / "engine.json").write_text(json.dumps(document))
    (folder / "accuracy.json").write_text(json.dumps(ACCURACY))
    (folder / "quantization.json").write_text(json.dumps({"tensors": QUANTIZED}))
    (folder / "record.json").write_text(json.dumps({"steps": STEPS, "totals": {}}))
    again = [{**one, "key": "k2"} for one in STEPS]
    (folder / "older.json").write_text(json.dumps({"steps": again, "totals": {}}))
    write_weights(checkpoint / "model.safetensors")
    return ReportRequest(
        package,
        folder / "record.json",
        folder / "accuracy.json",
        folder / "quantization.json",
        checkpoint,
        other,
        folder / "older.json",
    )


def write_weights(path: Path) -> None:
    """Two layers of 2 x 3 in float16 and a norm of 3 in float32."""
    header: dict[str, Any] = {}
    end = 0
    for name, dtype, shape, size in (
        ("layers.0.weight", "F16", [2, 3], 12),
        ("layers.1.weight", "F16", [2, 3], 12),
        ("norm.weight", "F32", [3], 12),
    ):
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))

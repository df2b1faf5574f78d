"""Documents of `engine.json` for the tests of those who read them."""

from __future__ import annotations

import copy
from typing import Any

PLAN = {"sha256": "a" * 64, "size": 10}
HEAD: dict[str, Any] = {
    "format": 2,
    "name": "qwen3_fp16",
    "task": "text-generation",
    "source": {"kind": "onnx", "address": "models/qwen3:fp16"},
    "tensors": [
        {"name": "x", "mode": "input", "dtype": "float16", "shape": ["batch", 4]},
        {"name": "y", "mode": "output", "dtype": "float16", "shape": ["batch", 2]},
    ],
    "inputs": [
        {
            "role": "weights",
            "address": "models/qwen3:checkpoint",
            "path": "models/qwen3/model.safetensors",
            "sha256": "d" * 64,
            "size": 7,
        }
    ],
    "limits": {"batch": 8, "sequence": None, "total_sequence": None},
    "size_estimate": None,
    "plugins": [],
    "kernels": [],
    "generation": None,
    "warnings": [],
    "reproducibility": "bit-identical",
}
PLAN_DOCUMENT: dict[str, Any] = {
    **HEAD,
    "product": {"name": "tensorrt-rtx", "version": "1.7.1.116"},
    "built": ["engine.plan"],
    "files": {"engine.plan": PLAN, "tokenizer.json": {"sha256": "b" * 64, "size": 2}},
    "own": {
        "profiles": [
            {
                "axes": {"batch": [1, 2, 8]},
                "shapes": {"x": [[1, 4], [2, 4], [8, 4]]},
            }
        ],
        "compute_capabilities": ["8.6", "8.9"],
        "weight_streaming": False,
        "options": {"optimization_level": None},
        "libraries": {"libtensorrt_rtx.so.1": "c" * 64},
        "cuda": "13.0",
        "minimum_driver": "580.65.06",
        "device": None,
    },
}
ONNX_DOCUMENT: dict[str, Any] = {
    **HEAD,
    "name": "qwen3_cpu",
    "product": {"name": "onnxruntime", "version": "1.32.0"},
    "built": ["model.onnx"],
    "files": {"model.onnx": {"sha256": "e" * 64, "size": 20}},
    "limits": {"batch": None, "sequence": None, "total_sequence": 512},
    "own": {
        "model": "model.onnx",
        "options": {
            "provider": "cpu",
            "optimization_level": "extended",
            "quantized_matmul": "float32",
        },
    },
}


def plan_document(own: dict[str, Any] | None = None, **head: Any) -> dict[str, Any]:
    """Of a plan: its first input is dynamic in `batch`."""
    return _changed(PLAN_DOCUMENT, own, head)


def onnx_document(own: dict[str, Any] | None = None, **head: Any) -> dict[str, Any]:
    """Of an engine that needs no GPU."""
    return _changed(ONNX_DOCUMENT, own, head)


def _changed(
    document: dict[str, Any], own: dict[str, Any] | None, head: dict[str, Any]
) -> dict[str, Any]:
    changed = {**document, **head, "own": {**document["own"], **(own or {})}}
    return copy.deepcopy(changed)

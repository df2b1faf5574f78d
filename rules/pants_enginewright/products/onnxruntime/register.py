"""Backend `pants_enginewright.products.onnxruntime`: engines for ONNX Runtime."""

from __future__ import annotations

from typing import Any, Iterable

from pants_enginewright.products.onnxruntime import build
from pants_enginewright.products.onnxruntime.targets import OnnxruntimeEngineTarget


def target_types() -> Iterable[Any]:
    return [OnnxruntimeEngineTarget]


def rules() -> Iterable[Any]:
    return build.rules()

"""Backend `pants_enginewright.products.tensorrt_rtx`: engines for TensorRT for RTX."""

from __future__ import annotations

from typing import Any, Iterable

from pants_enginewright.products.tensorrt_rtx import build
from pants_enginewright.products.tensorrt_rtx.targets import TensorrtRtxEngineTarget


def target_types() -> Iterable[Any]:
    return [TensorrtRtxEngineTarget]


def rules() -> Iterable[Any]:
    return build.rules()

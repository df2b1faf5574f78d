"""Backend `pants_enginewright.products.aotinductor`: decoders compiled by torch."""

from __future__ import annotations

from typing import Any, Iterable

from pants_enginewright.products.aotinductor import build
from pants_enginewright.products.aotinductor.targets import AotInductorEngineTarget, GpuTarget


def target_types() -> Iterable[Any]:
    return [AotInductorEngineTarget, GpuTarget]


def rules() -> Iterable[Any]:
    return build.rules()

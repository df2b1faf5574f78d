"""The core of the plugin knows no product."""

from __future__ import annotations

from pathlib import Path

import pants_enginewright
import pytest
from pants_enginewright.engines.product import BuildEngine
from pants_enginewright.products.onnxruntime.build import BuildOnnxruntimeEngine
from pants_enginewright.products.tensorrt_rtx.build import BuildTensorrtRtxEngine

PLUGIN = Path(pants_enginewright.__file__).parent
PRODUCTS = sorted(path.name for path in (PLUGIN / "products").iterdir() if path.is_dir())
CORE = [
    path
    for path in sorted(PLUGIN.rglob("*"))
    if path.suffix in (".py", ".sh") and "products" not in path.relative_to(PLUGIN).parts
]
NAMES = ("tensorrt", "tensorrt_rtx", "onnxruntime", "onnx runtime", "aotinductor")


def test_the_products_are_found() -> None:
    assert {"onnxruntime", "tensorrt_rtx"} <= set(PRODUCTS)
    assert len(CORE) > 60


@pytest.mark.parametrize("name", sorted({*NAMES, *PRODUCTS} - {"__pycache__"}))
def test_no_file_of_the_core_names_a_product(name: str) -> None:
    naming = [
        path.relative_to(PLUGIN).as_posix()
        for path in CORE
        if name in path.read_text(encoding="utf-8").lower()
    ]
    assert naming == []


@pytest.mark.parametrize("kind", [BuildOnnxruntimeEngine, BuildTensorrtRtxEngine])
def test_the_steps_of_an_engine_are_those_of_its_product(kind: type[BuildEngine]) -> None:
    room = f"enginewright.products.{kind.product}"
    steps = kind.__dict__["steps"].fget(kind)
    assert {f"{room}.build", f"{room}.describe"} <= set(steps.modules)

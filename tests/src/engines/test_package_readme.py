from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from enginewright.engines.manifest import Manifest
from enginewright.engines.optimization_profile import OptimizationProfile
from enginewright.engines.package_readme import render
from enginewright.engines.tensor import EngineTensor
from enginewright.hashing import FileDigest
from enginewright.products.tensorrt.products import TENSORRT_RTX

PLAN = FileDigest("a" * 64, 1234)


@pytest.fixture(scope="module")
def readme() -> str:
    manifest = Manifest(
        name="qwen3_fp16",
        task="text-generation",
        product="tensorrt-rtx",
        version="1.7.1.116",
        cuda="13.0",
        minimum_driver="580.65.06",
        plan=PLAN,
        files={"engine.plan": PLAN},
        tensors=(
            EngineTensor("input_ids", "input", "int64", ("batch", "sequence")),
            EngineTensor("scale", "input", "float16", (1,)),
            EngineTensor("logits", "output", "float16", ("batch", "sequence", 1536)),
        ),
        profiles=(
            OptimizationProfile(
                {"input_ids": ((1, 1), (1, 128), (8, 1024))},
                {"batch": (1, 1, 8), "sequence": (1, 128, 1024)},
            ),
        ),
        compute_capabilities=("8.6", "12.0"),
        weight_streaming=False,
        options={},
        libraries={},
        plugins=(),
        kernels=(),
        inputs=(),
        size_estimate=None,
        warnings=(),
        reproducibility="bit-identical",
    )
    return render(manifest)


@pytest.mark.parametrize(
    "text",
    [
        "# qwen3_fp16\n",
        "compute capability 8.6, 12.0; driver 580.65.06 or newer (CUDA 13.0)",
        f"1234 bytes, sha256 `{'a' * 64}`",
        "| `logits` | output | float16 | [batch, sequence, 1536] |",
        "| 0 | sequence | 1 | 128 | 1024 |",
        "Not run by the project on an RTX GPU",
        '    "input_ids": torch.zeros([1, 128], dtype=torch.int64, device="cuda"),',
        '    "scale": torch.zeros([1], dtype=torch.float16, device="cuda"),',
    ],
)
def test_says_what_a_user_needs(readme: str, text: str) -> None:
    assert text in readme


def test_python_example_uses_names_that_the_bindings_have(readme: str) -> None:
    source = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert source is not None
    trt = TENSORRT_RTX.load()
    owners: dict[str, Any] = {
        "trt": trt,
        "runtime": trt.Runtime,
        "engine": trt.ICudaEngine,
        "context": trt.IExecutionContext,
    }
    used = [
        (node.value.id, node.attr)
        for node in ast.walk(ast.parse(source[1]))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in owners
    ]
    assert {owner for owner, _ in used} == {*owners}
    assert [use for use in used if not hasattr(owners[use[0]], use[1])] == []

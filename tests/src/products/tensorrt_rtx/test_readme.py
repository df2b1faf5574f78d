from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from engine_document import plan_document

from enginewright.document import decode
from enginewright.engines.manifest import Manifest
from enginewright.engines.readme import render
from enginewright.products.tensorrt.plan import PlanTable
from enginewright.products.tensorrt_rtx.product import PRODUCT
from enginewright.products.tensorrt_rtx.readme import readme as make_part
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX

OWN: dict[str, Any] = {
    "profiles": [
        {
            "axes": {"batch": [1, 1, 8], "sequence": [1, 128, 1024]},
            "shapes": {"input_ids": [[1, 1], [1, 128], [8, 1024]]},
        }
    ],
    "compute_capabilities": ["8.6", "12.0"],
}
TENSORS = [
    {"name": "input_ids", "mode": "input", "dtype": "int64", "shape": ["batch", "sequence"]},
    {"name": "scale", "mode": "input", "dtype": "float16", "shape": [1]},
    {"name": "logits", "mode": "output", "dtype": "float16", "shape": ["batch", "sequence", 1536]},
]
LIMITS = {"batch": 8, "sequence": 1024, "total_sequence": 512}


@pytest.fixture(scope="module")
def readme() -> str:
    document = plan_document(OWN, tensors=TENSORS, limits=LIMITS)
    manifest = decode(Manifest, document, "engine.json")
    table = decode(PlanTable, document["own"], "own")
    return render(manifest, PRODUCT, make_part(manifest.tensors, table))


@pytest.mark.parametrize(
    "text",
    [
        "# qwen3_fp16\n",
        "compute capability 8.6, 12.0; driver 580.65.06 or newer (CUDA 13.0)",
        "An inference engine for TensorRT for RTX 1.7.1.116 (all four version fields must be those "
        "of the runtime), task `text-generation`.",
        f"`engine.plan`: 10 bytes, sha256 `{'a' * 64}`.",
        "At most 8 rows, 1024 tokens of a call, 512 tokens of a row in all.",
        "| `logits` | output | float16 | [batch, sequence, 1536] |",
        "| 0 | sequence | 1 | 128 | 1024 |",
        "Not run by the project on an RTX GPU",
        'std::ifstream file("engine.plan", std::ios::binary);',
        "-I$TENSORRT_RTX/include",
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

"""What is asked of the step that estimates sizes, and what is told of the answer."""

from __future__ import annotations

import json
from typing import Optional

import pytest
from known_model import HERE, model
from pants_enginewright.engines.size_estimate import (
    EstimateSize,
    Sizes,
    WeightSizes,
    plan_estimate,
)
from pants_enginewright.models.onnx_model import OnnxModel, Scheme
from pants_enginewright.steps.action import ActionRequest


def estimate(of: OnnxModel, profiles: str = "[]") -> Optional[ActionRequest]:
    return plan_estimate(EstimateSize(HERE, of, profiles))


def test_estimate_of_a_quantized_decoder() -> None:
    profiles = '[{"batch": [1, 1, 2], "sequence": [1, 8, 64]}, {"tokens": [1, 8, 64]}]'
    planned = estimate(model(scheme=Scheme(4, 32, ("*lm_head*",))), profiles)
    assert planned is not None
    assert [item.role for item in planned.inputs] == ["config"]
    assert json.loads(planned.parameters) == {
        "dtype": "float16",
        "task": "text-generation-with-past",
        "logits": "last",
        "quantization": {"method": "int4", "group_size": 32, "keep": ["*lm_head*"]},
        # Memory is estimated for profiles with the axes that it depends on.
        "profiles": [{"batch": [1, 1, 2], "sequence": [1, 8, 64]}],
    }


@pytest.mark.parametrize(
    ("task", "kind"), [("feature-extraction", "encoder"), ("text-generation", "other")]
)
def test_no_estimate_where_the_sizes_are_not_known(task: str, kind: str) -> None:
    assert estimate(model(task, kind)) is None


def test_the_key_of_the_estimate_has_no_weights() -> None:
    planned = estimate(model())
    assert planned is not None
    assert [file.path for item in planned.inputs for file in item.files] == ["config.json"]


def test_sizes_for_people() -> None:
    sizes = Sizes(WeightSizes(1_520_000), 2048, 6_520_000)
    assert sizes.describe(9_600_000, True) == (
        "weights 1.5 MB, KV cache 2,048 bytes a token, engine 9.6 MB (6.5 MB estimated)"
    )
    assert sizes.describe(1_234_500_000, False) == (
        "weights 1.5 MB, KV cache 2,048 bytes a token, engine 1,234.5 MB"
    )

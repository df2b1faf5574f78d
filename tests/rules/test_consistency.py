"""Fields of one target that do not go together."""

from __future__ import annotations

from typing import Any

import pytest
from pants.engine.addresses import Address
from pants_enginewright.build_files.base import CheckedTarget
from pants_enginewright.models.targets import ModelCheckpointTarget, OnnxModelTarget
from pants_enginewright.validation.targets import EngineTestTarget


def problems(kind: type[CheckedTarget], **fields: Any) -> list[str]:
    return list(kind(fields, Address("here", target_name="it")).problems())


def onnx_model(**fields: Any) -> list[str]:
    return problems(OnnxModelTarget, checkpoint=":checkpoint", **fields)


def engine_test(**fields: Any) -> list[str]:
    return problems(EngineTestTarget, engine=":engine", **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"task": "text-generation"},
        {"task": "feature-extraction"},
        {"task": "text-generation", "exporter": "direct", "logits": "last"},
        {"task": "text-generation-with-past", "exporter": "direct"},
        {"task": "text-generation", "opset": 18},
    ],
)
def test_exports_that_exist(fields: dict[str, Any]) -> None:
    assert onnx_model(**fields) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"task": "feature-extraction", "exporter": "direct"},
            [
                "field `task` has value 'feature-extraction'; exporter 'direct' has only decoders: "
                "use 'torch'"
            ],
        ),
        (
            {"task": "text-generation", "exporter": "direct", "opset": 18},
            ["field `opset` has value 18; exporter 'direct' writes 23"],
        ),
        (
            {"task": "text-generation-with-past", "logits": "last"},
            [
                "field `task` has value 'text-generation-with-past'; expected exporter 'direct' "
                "for a KV cache",
                "field `logits` has value 'last'; expected exporter 'direct' for it",
            ],
        ),
    ],
)
def test_exports_that_do_not(fields: dict[str, Any], expected: list[str]) -> None:
    assert onnx_model(**fields) == expected


def test_a_comparison_that_can_fail() -> None:
    assert engine_test(reference=":c", dataset=":d", min_cosine_similarity=0.99) == []
    # Bounds that nobody sets have defaults.
    assert engine_test(reference=":c", dataset=":d") == []


def test_a_test_of_the_package_alone() -> None:
    assert engine_test(reproducible=True) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"dataset": ":d"},
            "fields `dataset` need the field `reference`",
        ),
        (
            {"reference": ":c", "dataset": ":d", "shapes": [{"batch": 1}]},
            "fields `dataset` and `shapes` are both set; the arrays of a dataset have sizes",
        ),
        (
            {"min_cosine_similarity": 0.99, "min_top1_agreement": 0.5},
            "fields `min_cosine_similarity`, `min_top1_agreement` need the field `reference`",
        ),
        (
            {"reproducible": True, "max_samples": 100},
            "fields `max_samples` need the field `reference`",
        ),
    ],
)
def test_comparisons_that_cannot_be_made(fields: dict[str, Any], expected: str) -> None:
    assert engine_test(**fields) == [expected]


def test_a_checkpoint_comes_from_one_place() -> None:
    here = {"config": "config.json"}
    assert problems(ModelCheckpointTarget, **here, distribution="lockfiles:minilm") == []
    assert problems(ModelCheckpointTarget, **here, files=[":download"]) == []
    assert problems(
        ModelCheckpointTarget, **here, distribution="lockfiles:minilm", files=[":download"]
    ) == ["fields `distribution` and `files` are both set; expected one of them at most"]

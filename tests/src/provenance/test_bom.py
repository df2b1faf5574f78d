"""Bills of materials, held against the schema that CycloneDX publishes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from known_build import BUILD

from enginewright.provenance.bom import write_bom
from enginewright.provenance.model_card import ModelCard

CARD = ModelCard(
    "text-generation",
    ("input_ids: int64 [batch, sequence]",),
    ("logits: float16 [batch, sequence, 1536]",),
    (("enginewright:product", "onnxruntime 1.32.0"),),
)


def problem_of(document: dict[str, Any]) -> object:
    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return write_bom(BUILD, CARD)


def component(document: dict[str, Any], reference: str) -> dict[str, Any]:
    (found,) = (one for one in document["components"] if one["bom-ref"] == reference)
    return dict(found)


def test_the_schema_takes_it(document: dict[str, Any]) -> None:
    assert document["specVersion"] == "1.6"
    assert problem_of(document) is None


def test_the_schema_takes_one_without_a_card() -> None:
    without = write_bom(BUILD, None)
    assert problem_of(without) is None
    assert "modelCard" not in without["metadata"]["component"]


def test_the_schema_sees_a_fault(document: dict[str, Any]) -> None:
    other = json.loads(json.dumps(document))
    other["components"][0]["type"] = "engine"
    assert "'engine' is not one of" in str(problem_of(other))


def test_every_file_input_wheel_and_program_is_a_component(document: dict[str, Any]) -> None:
    found = {one["bom-ref"]: one["type"] for one in document["components"]}
    assert found == {
        "file:engine.json": "file",
        "file:model.onnx": "file",
        "weights:models/small:checkpoint/model.safetensors": "machine-learning-model",
        "tokenizer:models/small:checkpoint/tokenizer.json": "data",
        "dataset:models/small:int8/calibration.txt": "data",
        "toolchain:toolchains:one/toolchains/one.toml": "platform",
        "wheel:foo_bar-1.0+cpu-py3-none-any.whl": "library",
        "wheel:named-2.0-py3-none-any.whl": "library",
        "wheel:silent-3.0-py3-none-any.whl": "library",
        "wheel:own-4.0-py3-none-any.whl": "library",
        "python:3.11.7": "platform",
        "gcc:12.2.0": "application",
    }
    (root,) = (one for one in document["dependencies"] if one["ref"] == "package")
    assert sorted(root["dependsOn"]) == sorted(found)


def test_a_wheel_has_its_url_hash_and_licence(document: dict[str, Any]) -> None:
    wheel = component(document, "wheel:foo_bar-1.0+cpu-py3-none-any.whl")
    assert wheel["purl"] == (
        "pkg:pypi/foo-bar@1.0%2Bcpu?file_name=foo_bar-1.0%2Bcpu-py3-none-any.whl"
    )
    assert wheel["hashes"] == [{"alg": "SHA-256", "content": "1" * 64}]
    assert wheel["licenses"] == [{"expression": "MIT OR Apache-2.0"}]


def test_a_licence_without_an_expression_keeps_its_words(document: dict[str, Any]) -> None:
    named = component(document, "wheel:named-2.0-py3-none-any.whl")["licenses"]
    assert sorted(one["license"]["name"] for one in named) == ["3-Clause BSD", "BSD License"]
    own = component(document, "wheel:own-4.0-py3-none-any.whl")["licenses"]
    assert own == [{"license": {"name": "LicenseRef-Own"}}]


def test_a_wheel_that_declares_no_licence_is_said_to(document: dict[str, Any]) -> None:
    silent = component(document, "wheel:silent-3.0-py3-none-any.whl")
    assert "licenses" not in silent
    assert {"name": "enginewright:licence", "value": "not declared in METADATA"} in (
        silent["properties"]
    )


def test_the_card_has_task_tensors_and_calibration_data(document: dict[str, Any]) -> None:
    card = document["metadata"]["component"]["modelCard"]
    assert card["modelParameters"] == {
        "task": "text-generation",
        "inputs": [{"format": "input_ids: int64 [batch, sequence]"}],
        "outputs": [{"format": "logits: float16 [batch, sequence, 1536]"}],
        "datasets": [{"ref": "dataset:models/small:int8/calibration.txt"}],
    }


def test_it_has_no_time_and_the_same_number_for_the_same_contents(document: dict[str, Any]) -> None:
    assert "timestamp" not in document["metadata"]
    assert write_bom(BUILD, CARD) == document

"""Statements of in-toto, held against the definitions that the framework publishes."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement as OfficialStatement
from known_build import BUILD, digest

from enginewright.document import encode
from enginewright.provenance.build_provenance import state_provenance


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return dict(encode(state_provenance(BUILD, {"bom.cdx.json": digest("9", 900)})))


def test_the_framework_takes_it(document: dict[str, Any]) -> None:
    official = json_format.ParseDict(document, statement_pb2.Statement())
    OfficialStatement.copy_from_pb(official).validate()
    json_format.ParseDict(document["predicate"], provenance_pb2.Provenance())


def test_the_framework_sees_a_fault(document: dict[str, Any]) -> None:
    with pytest.raises(json_format.ParseError, match="surprise"):
        json_format.ParseDict({**document["predicate"], "surprise": 1}, provenance_pb2.Provenance())


def test_the_subjects_are_the_files(document: dict[str, Any]) -> None:
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://slsa.dev/provenance/v1"
    assert document["subject"] == [
        {"name": "bom.cdx.json", "digest": {"sha256": "9" * 64}},
        {"name": "engine.json", "digest": {"sha256": "a" * 64}},
        {"name": "model.onnx", "digest": {"sha256": "b" * 64}},
    ]


def test_every_input_and_each_wheel_once_is_a_dependency(document: dict[str, Any]) -> None:
    found = document["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert [(one["name"], one["digest"]["sha256"][0]) for one in found] == [
        ("model.safetensors", "c"),
        ("tokenizer.json", "d"),
        ("calibration.txt", "e"),
        ("toolchains/one.toml", "f"),
        ("foo_bar-1.0+cpu-py3-none-any.whl", "1"),
        ("named-2.0-py3-none-any.whl", "2"),
        ("own-4.0-py3-none-any.whl", "4"),
        ("silent-3.0-py3-none-any.whl", "3"),
    ]
    assert found[0]["annotations"] == {
        "role": "weights",
        "target": "models/small:checkpoint",
        "size": 300,
    }


def test_fields_and_steps_are_the_definition(document: dict[str, Any]) -> None:
    definition = document["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {
        "target": "engines:small",
        "targets": {
            "engines:small": {
                "type": "onnxruntime_engine",
                "fields": {"model": "models/small:fp32"},
            },
            "models/small:fp32": {"type": "onnx_model", "fields": {"opset": 23, "plugins": []}},
        },
    }
    first, second = definition["internalParameters"]["steps"]
    assert first == {
        "action": "export_onnx",
        "address": "models/small:fp32",
        "key": "5" * 64,
        "library": "6" * 64,
        "environment": "lockfiles:export",
        "python": "3.11.7",
    }
    assert "environment" not in second


def test_nothing_says_when_or_where(document: dict[str, Any]) -> None:
    assert document["predicate"]["runDetails"] == {
        "builder": {"id": "urn:enginewright:builder:unnamed", "version": {}}
    }

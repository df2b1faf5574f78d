"""docs/engine.schema.json says what the reader takes, and the reader is not alone in saying so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_document import onnx_document, plan_document
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from enginewright.document import encode
from enginewright.engines.build_result import ProductVersion
from enginewright.engines.limits import Limits
from enginewright.engines.manifest import BuildInput, Generation, Manifest, Source, decode
from enginewright.engines.registry import find_own, products
from enginewright.engines.reproducibility import TIERS
from enginewright.engines.tensor import EngineTensor
from enginewright.hashing import FileDigest
from enginewright.products.aotinductor.request import ShapeLimits
from enginewright.products.aotinductor.table import AotInductorTable, CompiledFor
from enginewright.products.onnxruntime.options import OnnxRuntimeOptions
from enginewright.products.onnxruntime.table import OnnxRuntimeTable
from enginewright.products.tensorrt.optimization_profile import OptimizationProfile
from enginewright.products.tensorrt.plan import PlanTable, TunedOn
from enginewright.schema import fields_of, names_of, plain

FILE = "docs/engine.schema.json"
KINDS = (
    AotInductorTable, BuildInput, CompiledFor, EngineTensor, FileDigest, Generation, Limits,
    OnnxRuntimeOptions, OnnxRuntimeTable,
    OptimizationProfile, PlanTable, ProductVersion, ShapeLimits, Source, TunedOn,
)  # fmt: skip


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    for folder in (Path.cwd(), *Path(__file__).parents):
        if (folder / FILE).is_file():
            document: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
            return document
    raise FileNotFoundError(FILE)


def required(kind: type) -> set[str]:
    found = set()
    for item in fields_of(kind):
        if item.is_inline:
            found |= required(plain(item.hint))
        elif item.is_required:
            found.add(item.name)
    return found


def test_it_is_a_schema(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_record_has_the_fields_that_the_reader_takes(
    schema: dict[str, Any], kind: type
) -> None:
    described = schema["$defs"][kind.__name__]
    assert {*described["properties"]} == {*names_of(kind)}
    assert {*described["required"]} == required(kind)
    assert described["additionalProperties"] is False


def test_the_head_has_the_fields_that_the_reader_takes(schema: dict[str, Any]) -> None:
    assert {*schema["properties"]} == {*names_of(Manifest)}
    # A document says its format, which the dataclass need not be told.
    assert {*schema["required"]} == {*required(Manifest), "format"}
    assert schema["properties"]["reproducibility"]["enum"] == [*TIERS]


def test_every_product_of_the_registry_has_its_table(schema: dict[str, Any]) -> None:
    tables = {
        name: rule["then"]["properties"]["own"]["$ref"].rpartition("/")[2]
        for rule in schema["allOf"]
        for name in rule["if"]["properties"]["product"]["properties"]["name"]["enum"]
    }
    assert tables == {name: product.own.__name__ for name, product in products().items()}


@pytest.mark.parametrize("make", [plan_document, onnx_document])
def test_what_we_write_is_valid(schema: dict[str, Any], make: Callable[[], Any]) -> None:
    manifest = decode(make(), "engine.json", find_own).manifest
    assert manifest is not None
    assert [*Draft202012Validator(schema).iter_errors(encode(manifest))] == []


@pytest.mark.parametrize(
    "document",
    [
        plan_document(format=1),
        plan_document(colour="red"),
        plan_document(built=[]),
        plan_document(limits={"batch": 0}),
        plan_document({"cuda": 13}),
        plan_document({"libraries": {"a.so": "xyz"}}),
        plan_document(product={"name": "onnxruntime", "version": "1"}),
        onnx_document({"model": ""}),
        onnx_document(tensors=[{"name": "x", "mode": "inout", "dtype": "int8", "shape": []}]),
        onnx_document(files={"model.onnx": {"sha256": "0" * 64}}),
    ],
)
def test_schema_and_reader_refuse_the_same(
    schema: dict[str, Any], document: dict[str, Any]
) -> None:
    assert not Draft202012Validator(schema).is_valid(document)
    assert decode(document, "engine.json", find_own).problems

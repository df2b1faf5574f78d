from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_document import ONNX_DOCUMENT, PLAN_DOCUMENT, onnx_document, plan_document

from enginewright import canonical_json
from enginewright.document import encode
from enginewright.engines.limits import Limits
from enginewright.engines.manifest import (
    BuildInput,
    Manifest,
    Source,
    read_manifest,
    read_with_problems,
)
from enginewright.engines.registry import find_own
from enginewright.errors import InputError
from enginewright.hashing import FileDigest


def write(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "engine.json"
    path.write_text(json.dumps(document))
    return path


def read(folder: Path, document: dict[str, Any]) -> Manifest:
    return read_manifest(write(folder, document), find_own)


def test_reads_the_head_of_every_product(tmp_path: Path) -> None:
    manifest = read(tmp_path, plan_document())
    assert (manifest.product.name, manifest.product.version) == ("tensorrt-rtx", "1.7.1.116")
    assert manifest.source == Source("onnx", "models/qwen3:fp16")
    assert manifest.built == ("engine.plan",)
    assert manifest.files["engine.plan"] == FileDigest("a" * 64, 10)
    assert manifest.tensors[0].shape == ("batch", 4)
    assert manifest.limits == Limits(batch=8)
    assert manifest.inputs == (
        BuildInput(
            "weights",
            "models/qwen3:checkpoint",
            "models/qwen3/model.safetensors",
            FileDigest("d" * 64, 7),
        ),
    )
    other = read(tmp_path, onnx_document())
    assert (other.product.name, other.limits.total_sequence) == ("onnxruntime", 512)


@pytest.mark.parametrize("document", [PLAN_DOCUMENT, ONNX_DOCUMENT], ids=["plan", "onnx"])
def test_writing_gives_the_same_document(tmp_path: Path, document: dict[str, Any]) -> None:
    manifest = read(tmp_path, document)
    assert canonical_json.dumps(encode(manifest)) == canonical_json.dumps(document)


def test_what_is_served_is_kept(tmp_path: Path) -> None:
    generation = {"stop": [151645, 151643], "begin": [151643]}
    estimate = {"weights": {"bytes": 5}}
    document = plan_document(generation=generation, size_estimate=estimate)
    manifest = read(tmp_path, document)
    assert manifest.generation is not None
    assert manifest.generation.stop == (151645, 151643)
    assert encode(manifest)["generation"] == generation
    assert encode(manifest)["size_estimate"] == estimate


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        *parents, last = [int(key) if key.isdigit() else key for key in path.split("/")]
        target: Any = document
        for key in parents:
            target = target[key]
        if value is ...:
            del target[last]
        else:
            target[last] = value

    return apply


PROFILE = "own/profiles/0"


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("name", ..., "field `name` is missing"),
        ("colour", "red", "unknown field `colour`"),
        ("product/version", ..., "field `version` is missing"),
        ("product/version", "1.7.1", "the version is not complete"),
        ("product/name", "tensorflow", "unknown product"),
        ("files/engine.plan/sha256", "xyz", "field has a wrong value"),
        ("files/engine.plan", ..., "not a file of the package"),
        ("built", [], "field has a wrong value"),
        ("built", ["tokenizer.json"], "no plan was built"),
        ("tensors/0/mode", "inout", "field has a wrong value"),
        ("tensors/0/shape", [1.5], "field has a wrong value"),
        ("limits/batch", 0, "field has a wrong value"),
        ("reproducibility", "probably", "field has a wrong value"),
        ("inputs/0/address", ..., "field `address` is missing"),
        ("generation", {"stop": [-1]}, "field has a wrong value"),
        ("own/minimum_driver", ..., "field `minimum_driver` is missing"),
        ("own/minimum_driver", "new", "not a version"),
        ("own/compute_capabilities", ["8"], "field has a wrong value"),
        ("own/colour", "red", "unknown field `colour`"),
        (f"{PROFILE}/axes/batch", [1, 2], "field has a wrong value"),
        (f"{PROFILE}/shapes/x", [["1", 4], [2, 4], [8, 4]], "field has a wrong value"),
        ("own/profiles", [], "no profile for dynamic inputs"),
        (f"{PROFILE}/shapes/x", ..., "profile does not cover the dynamic inputs"),
        (f"{PROFILE}/shapes/x/2", [9, 4], "profile contradicts dim 0 of input `x`"),
        (f"{PROFILE}/shapes/x/1", [2, 5], "profile contradicts dim 1 of input `x`"),
        (f"{PROFILE}/axes/batch", [1, 2, 4], "profile contradicts dim 0 of input `x`"),
        (f"{PROFILE}/shapes/x", [[1], [2], [8]], "profile has another rank than input `x`"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, path: str, value: Any, what: str) -> None:
    document = plan_document()
    change(path, value)(document)
    with pytest.raises(InputError) as caught:
        read(tmp_path, document)
    assert what in [problem.what for problem in caught.value.problems]
    assert all("engine.json" in problem.where for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("own/model", "other.onnx", "the model is not among the files that were built"),
        ("own/options/provider", "npu", "field has a wrong value"),
    ],
)
def test_a_wrong_field_of_another_product(tmp_path: Path, path: str, value: Any, what: str) -> None:
    document = onnx_document()
    change(path, value)(document)
    with pytest.raises(InputError) as caught:
        read(tmp_path, document)
    assert [problem.what for problem in caught.value.problems] == [what]


def test_all_problems_of_head_and_own_table_come_at_once(tmp_path: Path) -> None:
    document = plan_document()
    for path in ("name", "task", "own/cuda"):
        change(path, ...)(document)
    with pytest.raises(InputError) as caught:
        read(tmp_path, document)
    assert [problem.what for problem in caught.value.problems] == [
        "field `name` is missing",
        "field `task` is missing",
        "field `cuda` is missing",
    ]


def test_an_unknown_product_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    document = plan_document(product={"name": "tensorflow", "version": "2"})
    with pytest.raises(InputError) as caught:
        read(tmp_path, document)
    [problem] = caught.value.problems
    assert problem.where == f"{tmp_path / 'engine.json'}, product.name"
    assert problem.expected == "one of aotinductor, onnxruntime, tensorrt, tensorrt-rtx"


@pytest.mark.parametrize(
    ("format_", "what", "fix"),
    [
        (1, "the format of an earlier version", "package the engine again with this version"),
        (3, "another format than this version reads", "with the version of enginewright that"),
        (None, "another format than this version reads", "package the engine again"),
        ("2", "another format than this version reads", "package the engine again"),
    ],
)
def test_another_format_is_one_problem_that_says_what_to_do(
    tmp_path: Path, format_: Any, what: str, fix: str
) -> None:
    document = plan_document(format=format_)
    # What an earlier version wrote beside it must not hide that.
    document["plan"] = document.pop("built")
    with pytest.raises(InputError) as caught:
        read(tmp_path, document)
    [problem] = caught.value.problems
    assert what in problem.what
    assert problem.where == f"{tmp_path / 'engine.json'}, format"
    assert (problem.expected, problem.actual) == ("2", repr(format_))
    assert fix in problem.fix


def test_the_files_of_a_damaged_manifest_are_known_all_the_same(tmp_path: Path) -> None:
    document = plan_document()
    change("task", ...)(document)
    change("files/tokenizer.json", 1)(document)
    damaged = read_with_problems(write(tmp_path, document), find_own)
    assert damaged.manifest is None
    assert damaged.files == {"engine.plan": FileDigest("a" * 64, 10)}
    assert [problem.where.split(", ")[1] for problem in damaged.problems[1:]] == [
        'files["tokenizer.json"]'
    ]


def test_what_only_a_product_can_tell_is_not_asked_without_it(tmp_path: Path) -> None:
    path = write(tmp_path, plan_document(own={"profiles": []}))
    assert read_manifest(path).own["profiles"] == []

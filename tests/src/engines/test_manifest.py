from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enginewright import canonical_json
from enginewright.engines.manifest import BuildInput, Manifest
from enginewright.errors import InputError
from enginewright.hashing import FileDigest

PLAN = {"sha256": "a" * 64, "size": 10}
DOCUMENT: dict[str, Any] = {
    "format": 1,
    "name": "qwen3_fp16",
    "task": "text-generation",
    "product": {"name": "tensorrt-rtx", "version": "1.7.1.116"},
    "cuda": "13.0",
    "minimum_driver": "580.65.06",
    "plan": {"path": "engine.plan", **PLAN},
    "files": {"engine.plan": PLAN, "tokenizer.json": {"sha256": "b" * 64, "size": 2}},
    "tensors": [
        {"name": "x", "mode": "input", "dtype": "float16", "shape": ["batch", 4]},
        {"name": "y", "mode": "output", "dtype": "float16", "shape": ["batch", 2]},
    ],
    "profiles": [
        {
            "axes": {"batch": [1, 2, 8]},
            "shapes": {"x": {"min": [1, 4], "opt": [2, 4], "max": [8, 4]}},
            "values": {},
        }
    ],
    "compute_capabilities": ["8.6", "8.9"],
    "weight_streaming": False,
    "options": {"optimization_level": None},
    "libraries": {"libtensorrt_rtx.so.1": "c" * 64},
    "plugins": [],
    "kernels": [],
    "inputs": [
        {
            "role": "weights",
            "address": "models/qwen3:checkpoint",
            "path": "models/qwen3/model.safetensors",
            "sha256": "d" * 64,
            "size": 7,
        }
    ],
    "size_estimate": None,
    "warnings": [],
    "reproducibility": "bit-identical",
}


def read(tmp_path: Path, document: dict[str, Any]) -> Manifest:
    path = tmp_path / "engine.json"
    path.write_text(json.dumps(document))
    return Manifest.read(path)


def test_reads_every_field(tmp_path: Path) -> None:
    manifest = read(tmp_path, DOCUMENT)
    assert (manifest.product, manifest.version) == ("tensorrt-rtx", "1.7.1.116")
    assert manifest.plan == FileDigest("a" * 64, 10)
    assert manifest.tensors[0].shape == ("batch", 4)
    assert manifest.profiles[0].shapes == {"x": ((1, 4), (2, 4), (8, 4))}
    assert manifest.inputs == (
        BuildInput(
            "weights",
            "models/qwen3:checkpoint",
            "models/qwen3/model.safetensors",
            FileDigest("d" * 64, 7),
        ),
    )


def test_writing_gives_the_same_document(tmp_path: Path) -> None:
    text = canonical_json.dumps(read(tmp_path, DOCUMENT).to_json())
    assert text == canonical_json.dumps(DOCUMENT)


def test_an_absent_size_estimate_and_a_given_one_are_kept(tmp_path: Path) -> None:
    assert read(tmp_path, DOCUMENT).size_estimate is None
    given = {**DOCUMENT, "size_estimate": {"weights": 5}}
    assert read(tmp_path, given).to_json()["size_estimate"] == {"weights": 5}


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


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("format", 2, "field has a wrong value"),
        ("name", ..., "field `name` is missing"),
        ("minimum_driver", ..., "field `minimum_driver` is missing"),
        ("product/version", ..., "field `version` is missing"),
        ("plan/sha256", "xyz", "field has a wrong value"),
        ("tensors/0/mode", "inout", "field has a wrong value"),
        ("tensors/0/shape", [1.5], "field has a wrong value"),
        ("profiles/0/axes/batch", [1, 2], "field has a wrong value"),
        ("profiles/0/shapes/x/min", ["1", 4], "field has a wrong value"),
        ("reproducibility", "probably", "field has a wrong value"),
        ("inputs/0/address", ..., "field `address` is missing"),
        ("files/engine.plan/size", 11, "the plan is listed otherwise"),
        ("files/engine.plan", ..., "the plan is listed otherwise"),
        ("profiles", [], "no profile for dynamic inputs"),
        ("profiles/0/shapes/x", ..., "profile does not cover the dynamic inputs"),
        ("profiles/0/shapes/x/max", [9, 4], "profile contradicts dim 0 of input `x`"),
        ("profiles/0/shapes/x/opt", [2, 5], "profile contradicts dim 1 of input `x`"),
        ("profiles/0/axes/batch", [1, 2, 4], "profile contradicts dim 0 of input `x`"),
        ("plugins", [{"path": "libp.so"}], "plugins[0] needs a file that is not in the package"),
        ("kernels", [{"path": "k.cubin"}], "kernels[0] needs a file that is not in the package"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, path: str, value: Any, what: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    change(path, value)(document)
    with pytest.raises(InputError) as caught:
        read(tmp_path, document)
    assert what in [problem.what for problem in caught.value.problems]
    assert all("engine.json" in problem.where for problem in caught.value.problems)


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    document = copy.deepcopy(DOCUMENT)
    for path in ("name", "task", "cuda"):
        del document[path]
    with pytest.raises(InputError) as caught:
        read(tmp_path, document)
    assert len(caught.value.problems) == 3


def test_a_rank_that_differs_is_named(tmp_path: Path) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["profiles"][0]["shapes"]["x"] = {"min": [1], "opt": [2], "max": [8]}
    with pytest.raises(InputError) as caught:
        read(tmp_path, document)
    [problem] = caught.value.problems
    assert problem.what == "profile has another rank than input `x`"

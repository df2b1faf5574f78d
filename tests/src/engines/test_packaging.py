from __future__ import annotations

from typing import Any

import pytest

from enginewright.engines.packaging import describe
from enginewright.errors import InputError
from enginewright.hashing import FileDigest

PLAN = {"sha256": "a" * 64, "size": 10}
BUILD: dict[str, Any] = {
    "plan": {"path": "engine.plan", **PLAN},
    "product": {"name": "tensorrt-rtx", "version": "1.7.1.116"},
    "tensors": [{"name": "x", "mode": "input", "dtype": "int64", "shape": [1, 4]}],
    "profiles": [],
    "compute_capabilities": ["8.6"],
    "weight_streaming": False,
    "options": {},
    "libraries": {},
    "warnings": ["a warning"],
    "reproducibility": "functionally equal, bytes may differ",
}
TOOLCHAIN = {
    "product": "tensorrt-rtx",
    "version": "1.7.1.116",
    "cuda": "13.0",
    "minimum_driver": "580.65.06",
}
PARAMETERS: dict[str, Any] = {
    "name": "tiny",
    "task": "text-generation",
    "files": {"tokenizer.json": {"sha256": "b" * 64, "size": 2}},
    "inputs": [],
    "toolchain": TOOLCHAIN,
}


def test_joins_build_and_package() -> None:
    manifest = describe(BUILD, PARAMETERS)
    assert manifest.files == {
        "engine.plan": FileDigest("a" * 64, 10),
        "tokenizer.json": FileDigest("b" * 64, 2),
    }
    assert manifest.minimum_driver == "580.65.06"
    assert manifest.warnings == ("a warning",)
    assert manifest.plugins == ()
    assert manifest.reproducibility == "functionally equal, bytes may differ"


def problems_of(build: dict[str, Any], parameters: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        describe(build, parameters)
    return [f"{problem.where}: {problem.what}" for problem in caught.value.problems]


def test_another_plan_than_the_built_one_is_refused() -> None:
    files = {"engine.plan": {"sha256": "c" * 64, "size": 10}}
    assert problems_of(BUILD, {**PARAMETERS, "files": files}) == [
        "engine.json, files.engine.plan: the plan is listed otherwise"
    ]


def test_a_fourth_version_field_that_differs_is_refused() -> None:
    toolchain = {**TOOLCHAIN, "version": "1.7.1.115"}
    assert problems_of(BUILD, {**PARAMETERS, "toolchain": toolchain}) == [
        "parameters, toolchain.version: field has a wrong value"
    ]


def test_all_problems_come_at_once() -> None:
    parameters = {key: value for key, value in PARAMETERS.items() if key not in ("task", "inputs")}
    assert problems_of({**BUILD, "libraries": []}, {**parameters, "colour": "red"}) == [
        "parameters, colour: unknown parameter",
        "parameters: field `task` is missing",
        "result of the build, libraries: field has a wrong value",
        "parameters: field `inputs` is missing",
    ]

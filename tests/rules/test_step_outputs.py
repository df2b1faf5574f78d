"""What cannot be the result of a step that ended well is found out, whichever cache gave it."""

from __future__ import annotations

import json
from typing import Optional, Sequence

import pytest
from pants.engine.fs import Digest
from pants_enginewright.steps.files import File, Files
from pants_enginewright.steps.step_outputs import (
    DamagedResultError,
    StepOutputs,
    raise_if_damaged,
    unflatten,
)

KINDS = [
    "engine.plan",
    "model/model.onnx",
    "weights/model-00001.safetensors",
    "model.onnx.data",
    "swiglu.sm_89.cubin",
    "result.json",
]
"""A file of several kinds of step."""


def outputs(*files: File, promised: Sequence[File]) -> StepOutputs:
    digests = {"files": {file.path: file.described() for file in promised}}
    return StepOutputs(Files(Digest("3" * 64, 30), files), "{}", json.dumps(digests))


@pytest.mark.parametrize("path", KINDS)
def test_what_the_step_wrote(path: str) -> None:
    file = File(path, "a" * 64, 100)
    assert outputs(file, promised=[file]).damage() is None


@pytest.mark.parametrize("path", KINDS)
def test_a_truncated_file(path: str) -> None:
    cut = outputs(File(path, "b" * 64, 60), promised=[File(path, "a" * 64, 100)])
    assert cut.damage() == (
        f"{path} is not what the step wrote\n"
        f"  expected  100 bytes, sha256 {'a' * 64}\n"
        f"  actual    60 bytes, sha256 {'b' * 64}"
    )


def test_other_bytes_of_the_same_size() -> None:
    other = outputs(File("k.cubin", "b" * 64, 9), promised=[File("k.cubin", "a" * 64, 9)])
    assert other.damage() is not None


def test_all_that_is_damaged_is_named() -> None:
    kept, lost, foreign = (File(name, "a" * 64, 1) for name in ("kept", "lost", "foreign"))
    changed = File("changed", "b" * 64, 1)
    damage = outputs(
        kept, foreign, changed, promised=[kept, lost, File("changed", "a" * 64, 1)]
    ).damage()
    assert damage is not None
    lines = [line for line in damage.splitlines() if not line.startswith(" ")]
    assert lines == [
        "changed is not what the step wrote",
        "it has no lost",
        "the step wrote no foreign",
    ]


@pytest.mark.parametrize(
    ("result", "digests", "damage"),
    [
        (None, None, "it has no result.json, which every step writes"),
        ("{}", None, "it has no digests.json, which every step writes"),
        ("{}", "", "its digests.json is not what a step writes"),
        ("{}", '{"files": {"a": {"sha256"', "its digests.json is not what a step writes"),
        ("{}", '{"files": {"a": {}}}', "its digests.json is not what a step writes"),
        ("{}", "[]", "its digests.json is not what a step writes"),
    ],
)
def test_a_result_without_what_every_step_writes(
    result: Optional[str], digests: Optional[str], damage: str
) -> None:
    assert StepOutputs(Files(), result, digests).damage() == damage


def test_the_error_names_the_target_and_the_step() -> None:
    cut = outputs(File("engine.plan", "b" * 64, 60), promised=[File("engine.plan", "a" * 64, 100)])
    with pytest.raises(DamagedResultError) as caught:
        raise_if_damaged("engines:small", "build_engine", cut)
    text = str(caught.value)
    assert text.startswith("engines:small: step `build_engine` ended well, and its result")
    assert f"actual    60 bytes, sha256 {'b' * 64}" in text


def test_the_digests_are_no_file_of_the_result() -> None:
    listed = Files(
        Digest("3" * 64, 30),
        (File("digests.json", "a" * 64, 1), File("model%2Fmodel.onnx", "b" * 64, 2)),
    )
    assert unflatten(listed).entries == (File("model/model.onnx", "b" * 64, 2),)

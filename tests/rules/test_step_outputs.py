"""What cannot be the result of a step that ended well is found out, whichever cache gave it."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest
from pants.engine.fs import Digest
from pants_enginewright.steps.files import File, Files
from pants_enginewright.steps.step_outputs import (
    DamagedResultError,
    StepOutputs,
    raise_if_damaged,
)

PROMISED = {"path": "engine.plan", "sha256": "a" * 64, "size": 100}


def outputs(*files: File, **result: Any) -> StepOutputs:
    text: Optional[str] = json.dumps(result) if result else None
    return StepOutputs(Files(Digest("3" * 64, 30), files), text)


def test_the_plan_that_the_step_wrote() -> None:
    whole = outputs(File("engine.plan", "a" * 64, 100), plan=PROMISED)
    assert whole.damage("build_engine") is None


def test_a_truncated_plan() -> None:
    cut = outputs(File("engine.plan", "b" * 64, 60), plan=PROMISED)
    assert cut.damage("build_engine") == (
        "engine.plan is not what the step wrote\n"
        f"  expected  100 bytes, sha256 {'a' * 64}\n"
        f"  actual    60 bytes, sha256 {'b' * 64}"
    )


def test_other_bytes_of_the_same_size() -> None:
    other = outputs(File("engine.plan", "b" * 64, 100), plan=PROMISED)
    assert other.damage("build_engine") is not None


def test_a_plan_that_is_not_there() -> None:
    assert outputs(plan=PROMISED).damage("build_engine") == "it has no engine.plan"


def test_a_result_without_files() -> None:
    damage = outputs().damage("check_graph")
    assert damage == "it has no result.json, which every step writes"


def test_a_step_that_speaks_of_a_plan_and_builds_none() -> None:
    assert outputs(plan={"bytes": 100}).damage("estimate_size") is None


def test_the_error_names_the_target_and_the_step() -> None:
    cut = outputs(File("engine.plan", "b" * 64, 60), plan=PROMISED)
    with pytest.raises(DamagedResultError) as caught:
        raise_if_damaged("engines:small", "build_engine", cut)
    text = str(caught.value)
    assert text.startswith("engines:small: step `build_engine` ended well, and its result")
    assert f"actual    60 bytes, sha256 {'b' * 64}" in text

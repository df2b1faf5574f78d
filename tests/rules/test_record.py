"""Steps that gave another result when they ran again are named, all of them."""

from __future__ import annotations

from typing import Optional

import pytest
from pants.engine.fs import Digest
from pants_enginewright.goals.record import warning_lines
from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.files import Files
from pants_enginewright.steps.record import NotDeterministicError, raise_if_not_deterministic


def step(action: str, repeated: Optional[str]) -> ActionResult:
    return ActionResult(
        action=action,
        address="engines:small",
        key="7" * 64,
        files=Files(Digest("3" * 64, 30)),
        result="{}",
        log="",
        metadata=None,  # type: ignore[arg-type]
        repeated=repeated,
    )


def test_steps_that_were_not_repeated_or_gave_the_same() -> None:
    raise_if_not_deterministic([step("check_graph", None), step("build_engine", "3" * 64)])


def test_all_steps_that_gave_something_else() -> None:
    with pytest.raises(NotDeterministicError) as caught:
        raise_if_not_deterministic(
            [
                step("write_manifest", "4" * 64),
                step("check_graph", "3" * 64),
                step("build_engine", "5" * 64),
            ]
        )
    assert str(caught.value) == (
        "build_engine engines:small is not deterministic: the same key gave other results.\n"
        f"  key          {'7' * 64}\n"
        f"  in a cache   {'3' * 64}\n"
        f"  made here    {'5' * 64}\n"
        "write_manifest engines:small is not deterministic: the same key gave other results.\n"
        f"  key          {'7' * 64}\n"
        f"  in a cache   {'3' * 64}\n"
        f"  made here    {'4' * 64}"
    )


def test_warnings_are_lines_of_their_own() -> None:
    steps = [
        {"action": "check_graph", "address": "models/a:fp16"},
        {"action": "export_onnx", "address": "models/a:fp16", "warnings": ("one", "two")},
    ]
    assert warning_lines(steps) == [
        "export_onnx models/a:fp16: one",
        "export_onnx models/a:fp16: two",
    ]

"""Steps that gave another result when they ran again are named, all of them."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import Any, Optional

import pytest
from pants.engine.fs import Digest
from pants.engine.internals.session import RunId
from pants.engine.process import ProcessResultMetadata
from pants_enginewright.goals.record import warning_lines
from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.files import Files
from pants_enginewright.steps.record import (
    NotDeterministicError,
    RecordSteps,
    raise_if_not_deterministic,
    record_steps,
)


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


def run_of(run_id: int, milliseconds: int, is_fresh: bool = False) -> ActionResult:
    environment: Any = SimpleNamespace(remote_execution=False)
    metadata = ProcessResultMetadata(milliseconds, environment, "ran", source_run_id=run_id)
    return dataclasses.replace(step("pytest", None), metadata=metadata, is_fresh=is_fresh)


def test_a_test_that_ran_again_asks_for_another_record() -> None:
    first, second = run_of(1, 78_000), run_of(2, 50_000)
    # Equal, or each hit would look like another result than the run that it stands for.
    assert first == second
    assert RecordSteps("tests", (first,)) != RecordSteps("tests", (second,))
    (described,) = record_steps(RecordSteps("tests", (second,)), RunId(2)).steps
    assert (described["source"], described["milliseconds"]) == ("ran", 50_000)


def test_a_step_that_ran_past_the_caches_is_another_in_each_run() -> None:
    assert run_of(1, 10, is_fresh=True) != run_of(2, 10, is_fresh=True)
    assert run_of(1, 10, is_fresh=True) == run_of(1, 10, is_fresh=True)


def test_the_record_has_what_a_test_measured_and_nothing_else_of_it() -> None:
    said = '{"passed": true, "total": {"rows": 3, "top1_agreement": 0.75, "perplexity": null}}'
    judged = dataclasses.replace(run_of(1, 500), action="judge_accuracy", result=said)
    request = RecordSteps("engines:small_test", (judged, run_of(1, 9)))
    record = record_steps(request, RunId(1)).metadata()["enginewright_steps"]
    assert [step.get("measured") for step in record["steps"]] == [
        {"rows": 3, "top1_agreement": 0.75},
        None,
    ]
    assert json.loads(json.dumps(record)) == record

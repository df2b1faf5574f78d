"""What `./pants test` makes of an `engine_test` whose step failed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pants.core.goals.test import ShowOutput
from pants.engine.addresses import Address
from pants_enginewright.goals.test import EngineTestFieldSet, EngineTestRequest, run_engine_test
from pants_enginewright.steps.action import ActionFailed, ActionRequest
from pants_enginewright.validation.targets import EngineTestTarget

HERE = Address("engines", target_name="accuracy")


def test_a_failed_step_fails_the_test_and_tells_the_summary_when_it_ran() -> None:
    target = EngineTestTarget({"engine": ":engine"}, HERE)
    batch: Any = EngineTestRequest.Batch("", (EngineTestFieldSet.create(target),), None)
    options: Any = SimpleNamespace(output=ShowOutput.FAILED)
    metadata: Any = object()
    rule = run_engine_test(batch, options, 1)  # type: ignore[arg-type]
    rule.send(None)
    failure = ActionFailed(
        ActionRequest.create("judge_accuracy", address=HERE), 1, "missed its bound", metadata
    )
    try:
        rule.throw(failure)
    except StopIteration as finished:
        result = finished.value
    assert result.exit_code == 1
    assert result.stderr == "engines:accuracy: step `judge_accuracy` failed:\nmissed its bound"
    # Pants leaves a result without it out of the summary.
    assert result.result_metadata is metadata

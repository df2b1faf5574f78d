"""What `./pants report` hands to `enginewright report`."""

from __future__ import annotations

import json

from pants.util.frozendict import FrozenDict
from pants_enginewright.goals.report import plan_arguments, plan_record
from pants_enginewright.steps.record import StepsRecord


def test_only_what_there_is_is_named() -> None:
    assert plan_arguments("a", ("package",)) == ("a/package", "--record", "a/record.json")
    assert plan_arguments("a", ("package", "checkpoint", "accuracy")) == (
        "a/package",
        *("--checkpoint", "a/checkpoint"),
        *("--accuracy", "a/accuracy/report.json"),
        *("--record", "a/record.json"),
    )


def test_steps_are_those_of_a_record_that_the_command_reads() -> None:
    row = FrozenDict(action="build_engine", source="hit_remotely", remote=False)
    (step,) = plan_record(StepsRecord("engines:a", (row,)))
    assert step["from"] == "remote cache"
    assert json.loads(json.dumps(step)) == step

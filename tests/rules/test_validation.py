"""What the rules for an `engine_test` ask of its steps."""

from __future__ import annotations

from typing import Any

import pytest
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants_enginewright.engines.engine import PLAN, Engine
from pants_enginewright.steps.files import File, Files
from pants_enginewright.validation.validation import (
    plan_comparison,
    plan_measurement,
    plan_package_check,
)

HERE = Address("engines", target_name="x")
PACKAGE = Files(
    Digest("1" * 64, 10),
    tuple(
        File(name, letter * 64, 10)
        for letter, name in (
            ("a", "README.md"),
            ("b", "engine.json"),
            ("c", PLAN),
            ("d", "k.cubin"),
        )
    ),
)


def test_the_check_of_a_package_gets_all_its_files_once() -> None:
    nothing: Any = None
    engine = Engine(HERE, nothing, (), PACKAGE, nothing, (PLAN,), nothing, ())
    planned = plan_package_check(HERE, engine)
    assert {item.role: [file.path for file in item.files] for item in planned.inputs} == {
        "plan": [PLAN],
        "manifest": ["engine.json"],
        "package": ["README.md", "k.cubin"],
    }
    assert {item.folder for item in planned.inputs} == {"package"}
    assert {item.digest for item in planned.inputs} == {PACKAGE.digest}


def test_two_builds_are_compared_with_each_other() -> None:
    first, second = (Files(Digest(digit * 64, 10), (File(PLAN, digit * 64, 10),)) for digit in "12")
    planned = plan_comparison(HERE, first, second)
    assert [(item.role, item.digest) for item in planned.inputs] == [
        ("first", first.digest),
        ("second", second.digest),
    ]


@pytest.mark.parametrize("task", ["feature-extraction", "text-generation"])
def test_a_measurement_has_padding_and_both_ends(task: str) -> None:
    planned = plan_measurement(task)
    assert planned["task"] == task
    assert 1 in planned["batch_sizes"]
    assert max(planned["batch_sizes"]) > 1
    assert len(planned["sequence_lengths"]) > 1
    assert max(planned["sequence_lengths"]) <= planned["max_sequence"]

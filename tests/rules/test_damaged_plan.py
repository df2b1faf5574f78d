"""A plan that is not what its step hashed is refused, whoever says that all went well."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pants.engine.fs import Digest
from pants_enginewright.util_rules.action import ActionResult
from pants_enginewright.util_rules.engine import DamagedPlanError, raise_if_damaged
from pants_enginewright.util_rules.files import File, Files


def built(plan: File, **promised: Any) -> ActionResult:
    return ActionResult(
        action="build_engine",
        address="engines:small",
        key="7" * 64,
        files=Files(Digest("3" * 64, 30), (plan,)),
        result=json.dumps({"plan": {"path": "engine.plan", **promised}}),
        log="",
        metadata=None,  # type: ignore[arg-type]
    )


def test_the_plan_that_the_step_wrote() -> None:
    raise_if_damaged(built(File("engine.plan", "a" * 64, 100), sha256="a" * 64, size=100))


def test_a_truncated_plan() -> None:
    result = built(File("engine.plan", "b" * 64, 60), sha256="a" * 64, size=100)
    with pytest.raises(DamagedPlanError) as caught:
        raise_if_damaged(result)
    text = str(caught.value)
    assert text.startswith("engines:small: engine.plan is not what the step `build_engine` says")
    assert f"expected  100 bytes, sha256 {'a' * 64}" in text
    assert f"actual    60 bytes, sha256 {'b' * 64}" in text
    assert "7" * 64 in text


def test_other_bytes_of_the_same_size() -> None:
    with pytest.raises(DamagedPlanError):
        raise_if_damaged(built(File("engine.plan", "b" * 64, 100), sha256="a" * 64, size=100))

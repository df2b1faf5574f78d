"""The record of a run: where results came from, totals, and a file that is whole or not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest
from pants_enginewright.explain.history import History
from pants_enginewright.goals.record import (
    RecordCallback,
    describe_source,
    summarize,
    summary_line,
    write_whole,
)
from pants_enginewright.steps.record import METADATA


def step(action: str, source: str, **changes: Any) -> Dict[str, Any]:
    fields = {"address": "engines:x", "key": "1" * 64, "remote": False}
    numbers = {"milliseconds": 1500, "bytes": 10}
    return {"action": action, "source": source, **fields, **numbers, **changes}


def workunit(second: int, *steps: Dict[str, Any], root: str = "engines/x") -> Dict[str, Any]:
    metadata = {METADATA: {"root": root, "steps": list(steps)}}
    return {"metadata": metadata, "start_secs": second, "start_nanos": 5}


def record(path: Path, *workunits: Dict[str, Any]) -> Dict[str, Any]:
    """What is written when a run ends that completed these workunits, in this order."""
    context: Any = None
    RecordCallback(str(path), str(path.parent), History.of(str(path.parent)))(
        started_workunits=(), completed_workunits=workunits, finished=True, context=context
    )
    document: Dict[str, Any] = json.loads(path.read_text())
    return document


@pytest.mark.parametrize(
    ("source", "remote", "words"),
    [
        ("ran", False, "ran here"),
        ("ran", True, "ran remotely"),
        ("hit_locally", False, "local cache"),
        ("hit_remotely", True, "remote cache"),
        ("memoized", False, "memory"),
    ],
)
def test_where_a_result_came_from(source: str, remote: bool, words: str) -> None:
    assert describe_source(step("check_graph", source, remote=remote)) == words


def test_totals() -> None:
    steps: List[Dict[str, Any]] = [
        {"from": "ran here", "milliseconds": 1500, "bytes": 10},
        {"from": "ran remotely", "milliseconds": 500, "bytes": 1},
        {"from": "local cache", "milliseconds": 61_000, "bytes": 100},
        {"from": "memory", "milliseconds": None, "bytes": 0},
    ]
    totals = summarize(steps)
    assert totals == {
        "steps": 4,
        "from": {"ran here": 1, "ran remotely": 1, "local cache": 1, "memory": 1},
        "seconds_spent": 2.0,
        "seconds_saved": 61.0,
        "bytes": 111,
    }
    assert summary_line(totals) == "4 steps: 2 built, 2 from cache, 61 s saved"
    assert summary_line(summarize(steps[:1])) == "1 step: 1 built, 0 from cache, 0 s saved"


def test_a_step_of_two_packages_counts_once(tmp_path: Path) -> None:
    shared = step("export_onnx", "ran", address="models:m")
    written = record(
        tmp_path / "dist/record.json",
        workunit(1, shared, step("build_engine", "hit_locally")),
        workunit(1, shared, root="engines/y"),
    )
    assert [(one["action"], one["from"]) for one in written["steps"]] == [
        ("build_engine", "local cache"),
        ("export_onnx", "ran here"),
    ]
    assert written["totals"]["steps"] == 2
    assert list(tmp_path.rglob("*.part")) == []


def test_of_one_package_the_workunit_that_started_last_counts(tmp_path: Path) -> None:
    new, old = workunit(2, step("build_engine", "ran")), workunit(1, step("check_graph", "ran"))
    for order in ((old, new), (new, old)):
        written = record(tmp_path / "record.json", *order)
        assert [one["action"] for one in written["steps"]] == ["build_engine"]


def test_half_a_record_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "record.json"
    path.write_text("of the run before")
    (tmp_path / "record.json.part").symlink_to("/dev/full")
    write_whole(str(path), "{}")
    assert "No space left on device" in caplog.text
    assert not path.exists()

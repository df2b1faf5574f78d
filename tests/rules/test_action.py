"""What names a step's result: everything that can change it, and nothing else."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import pytest
from pants.engine.fs import Digest
from pants.engine.internals.session import RunId
from pants.engine.process import Process, ProcessResultMetadata
from pants_enginewright.steps.action import (
    ActionFailed,
    ActionInput,
    ActionRequest,
    plan_process,
    plan_request,
)
from pants_enginewright.steps.files import File, Files
from pants_enginewright.steps.hermetic_process import process_key
from pants_enginewright.steps.step_outputs import unflatten
from pants_enginewright.steps.suspicion import was_cached

LIBRARY, WHEELS = Digest("1" * 64, 10), Digest("2" * 64, 20)
GRAPH = Files(Digest("3" * 64, 30), (File("model.onnx", "a" * 64, 100),))
WEIGHTS = Files(Digest("4" * 64, 40), (File("model.onnx.data", "b" * 64, 2000),))


def request(**changes: Any) -> ActionRequest:
    fields: dict[str, Any] = {
        "address": "//engines:small",
        "environment": "onnx",
        "inputs": [
            ActionInput.of("model", GRAPH),
            ActionInput.of("model", WEIGHTS),
            ActionInput.of("reader", GRAPH, "beside"),
        ],
        "parameters": {"level": 3, "axes": ["batch"]},
    }
    return ActionRequest.create("check_graph", **{**fields, **changes})


def process(asked: ActionRequest, digest: Digest = LIBRARY, **changes: Any) -> Process:
    return plan_process(
        asked, digest, changes.get("wheels", WHEELS), changes.get("python", "3.11.7")
    )


def test_the_request_says_where_each_input_lies_and_what_it_is() -> None:
    assert (
        plan_request(request())
        == """\
{
  "action": "check_graph",
  "inputs": {
    "model": [
      {
        "path": "inputs/model/model.onnx",
        "sha256": "%(a)s",
        "size": 100
      },
      {
        "path": "inputs/model/model.onnx.data",
        "sha256": "%(b)s",
        "size": 2000
      }
    ],
    "reader": [
      {
        "path": "inputs/beside/model.onnx",
        "sha256": "%(a)s",
        "size": 100
      }
    ]
  },
  "parameters": {
    "axes": [
      "batch"
    ],
    "level": 3
  }
}
"""
        % {"a": "a" * 64, "b": "b" * 64}
    )


def test_the_request_does_not_tell_for_whom_it_is() -> None:
    other = request(address="//engines:other")
    assert plan_request(other) == plan_request(request())
    assert process_key(process(other)) == process_key(process(request()))


def test_the_order_in_which_parameters_are_written_does_not_matter() -> None:
    other = request(parameters={"axes": ["batch"], "level": 3})
    assert other == request()


def test_a_description_is_for_people() -> None:
    first = process(request())
    second = dataclasses.replace(first, description="something else")
    assert process_key(first) == process_key(second)


CHANGES: dict[str, Callable[[], Process]] = {
    "files": lambda: process(request(), Digest("5" * 64, 10)),
    "wheels": lambda: process(request(), wheels=Digest("6" * 64, 20)),
    "no wheels": lambda: process(request(), wheels=Files().digest),
    "python": lambda: process(request(), python="3.11.8"),
    "module": lambda: process(
        dataclasses.replace(request(), module="enginewright.actions.check_weights")
    ),
    "attempt": lambda: process(request().again()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_can_change_a_result_changes_its_key(name: str) -> None:
    keys = {process_key(process(request())), process_key(CHANGES[name]())}
    assert len(keys) == 2


@pytest.mark.parametrize(
    "other",
    [
        request(parameters={"level": 4, "axes": ["batch"]}),
        request(inputs=[ActionInput.of("model", GRAPH)]),
        request(inputs=[ActionInput.of("graph", GRAPH), ActionInput.of("model", WEIGHTS)]),
    ],
    ids=["parameter", "fewer inputs", "role"],
)
def test_what_the_step_reads_is_in_its_request_and_so_in_its_files(other: ActionRequest) -> None:
    assert plan_request(other) != plan_request(request())


@pytest.mark.parametrize(
    ("source", "cached"), [("ran", False), ("hit_locally", True), ("hit_remotely", True)]
)
def test_a_result_that_is_remembered_came_out_of_a_cache_if_it_did_at_first(
    source: str, cached: bool
) -> None:
    environment: Any = None
    metadata = ProcessResultMetadata(1, environment, source, source_run_id=7)
    assert metadata.source(RunId(8)) == ProcessResultMetadata.Source.MEMOIZED
    assert was_cached(metadata) is cached


def test_a_step_sees_nothing_of_the_host_but_a_path() -> None:
    planned = process(request())
    assert dict(planned.env) == {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
    }
    assert planned.output_directories == ("outputs",)


def test_a_failure_and_a_defect_are_told_apart() -> None:
    failed = ActionFailed(request(), 1, "opset 26 is too new\n")
    broken = ActionFailed(request(), 70, "Traceback ...")
    assert str(failed) == "//engines:small: step `check_graph` failed:\nopset 26 is too new"
    assert str(broken) == (
        "//engines:small: step `check_graph` is broken, a defect of ours:\nTraceback ..."
    )


def test_files_of_folders_get_their_paths_back() -> None:
    listed = Files(
        Digest("3" * 64, 30),
        (File("model%2Fmodel.onnx", "a" * 64, 1), File("100%25.txt", "b" * 64, 2)),
    )
    assert unflatten(listed).entries == (
        File("model/model.onnx", "a" * 64, 1),
        File("100%.txt", "b" * 64, 2),
    )

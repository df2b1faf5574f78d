"""The checks of a model, and what becomes of a model from a cache that does not pass one."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from known_model import GRAPH, model, result
from pants.engine.process import ProcessResultMetadata
from pants_enginewright.models.checked_model import CheckedGraph, CheckGraph, CheckWeights
from pants_enginewright.models.checked_model import check_graph as rule_check_graph
from pants_enginewright.models.onnx_model import OnnxModel, OnnxModelRequest
from pants_enginewright.steps.action import ActionFailed, ActionRequest, ActionResult
from pants_enginewright.steps.files import File, Files

NAMED = OnnxModelRequest(":model", "field `model` of here:it")
MENDED = Files(GRAPH.digest, (File("model.onnx", "f" * 64, 900),))


def test_the_check_of_a_graph_gets_no_weights() -> None:
    reader = json.dumps({"product": "rtx", "ir_max": 11})
    planned = CheckGraph(NAMED, reader).plan(model())
    paths = [(item.role, file.path) for item in planned.inputs for file in item.files]
    assert paths == [("model", "model.onnx"), ("record", "onnx.json")]
    assert json.loads(planned.parameters) == {
        "dynamic_axes": ["batch", "sequence"],
        "dtype": "float16",
        "reader": {"product": "rtx", "ir_max": 11},
        "length": 1024,
    }
    assert json.loads(CheckGraph(NAMED).plan(model()).parameters)["reader"] is None


def test_the_check_of_the_weights_gets_all_of_the_model() -> None:
    planned = CheckWeights(NAMED).plan(model())
    assert {item.role: [file.path for file in item.files] for item in planned.inputs} == {
        "model": ["model.onnx"],
        "data": ["model.safetensors"],
    }
    assert {item.folder for item in planned.inputs} == {"model"}
    assert json.loads(planned.parameters) == {"dtype": "float16"}


def made(source: str, graph: Files = GRAPH) -> OnnxModel:
    """A model whose export came from there."""
    environment: Any = None
    metadata = ProcessResultMetadata(1, environment, source, source_run_id=1)
    step = dataclasses.replace(result("export_direct", {}, graph), metadata=metadata)
    return dataclasses.replace(model(), graph=graph, steps=(step,))


def check(request: ActionRequest) -> ActionResult:
    """Only the mended graph passes."""
    if request.inputs[0].files == MENDED.entries:
        return result("check_graph", {})
    raise ActionFailed(request, 1, "the graph ends early")


def run(cached: OnnxModel, afresh: OnnxModel) -> CheckedGraph:
    """What the rule makes of a model that caches gave and that is another when made afresh."""
    rule: Any = rule_check_graph(CheckGraph(NAMED))
    answer: Any = None
    while True:
        try:
            asked = rule.send(answer) if not isinstance(answer, Exception) else rule.throw(answer)
        except StopIteration as finished:
            checked: CheckedGraph = finished.value
            return checked
        (request,) = asked.inputs
        try:
            if isinstance(request, OnnxModelRequest):
                answer = afresh if request.fresh else cached
            else:
                answer = check(request)
        except ActionFailed as failed:
            answer = failed


def test_a_graph_that_a_cache_gave_damaged_is_made_once_more() -> None:
    checked = run(made("hit_locally"), made("ran", MENDED))
    assert checked.model.graph == MENDED
    assert checked.request.fresh


def test_a_graph_that_comes_out_the_same_is_the_users_to_mend() -> None:
    with pytest.raises(ActionFailed, match="the graph ends early"):
        run(made("hit_remotely"), made("ran"))


def test_a_graph_that_was_made_here_is_not_made_again() -> None:
    with pytest.raises(ActionFailed, match="the graph ends early"):
        run(made("ran"), made("ran", MENDED))

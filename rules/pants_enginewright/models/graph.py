"""What a step put out that makes a graph: the graph, its record, and where its tensors lie."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Iterable

from pants.engine.fs import Digest, DigestContents
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files

GRAPH, RECORD = "model.onnx", "onnx.json"


@dataclass(frozen=True)
class GraphRequest:
    made: ActionResult
    weights: Files = field(default_factory=Files)
    """Files that the graph may name beside those that the step put out."""


@dataclass(frozen=True)
class Graph:
    graph: Files
    """`model.onnx`."""
    data: Files
    """The files that the graph's external data lie in, as its record names them."""
    record: Files
    """`onnx.json`, which follows from the graph: a step that has the graph may have it too."""


@rule
async def take_graph(request: GraphRequest) -> Graph:
    entries = request.made.files.entries
    outputs = await Get(Files, ComposeFiles, ComposeFiles.under("model", request.made.files))
    graph = await Get(Files, ComposeFiles, ComposeFiles.named(outputs.entries, GRAPH))
    record = await Get(Files, ComposeFiles, ComposeFiles.named(entries, RECORD))
    texts = await Get(DigestContents, Digest, record.digest)
    wanted = json.loads(texts[0].content)["external_data"]
    beside = (*outputs.entries, *request.weights.entries)
    data = await Get(Files, ComposeFiles, ComposeFiles.named(beside, *wanted))
    return Graph(graph, data, record)


def rules() -> Iterable[Any]:
    return collect_rules()

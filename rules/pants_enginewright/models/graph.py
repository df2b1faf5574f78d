"""What a step put out that makes a graph: the graph, its record, and where its tensors lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterable, Tuple

from pants.engine.fs import Digest, DigestContents
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files
from pants_enginewright.steps.result import read_result

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


@dataclass(frozen=True)
class _Record:
    external_data: Tuple[str, ...]


@rule
async def take_graph(request: GraphRequest) -> Graph:
    entries = request.made.files.entries
    outputs = await Get(Files, ComposeFiles, ComposeFiles.under("model", request.made.files))
    graph = await Get(Files, ComposeFiles, ComposeFiles.named(outputs.entries, GRAPH))
    record = await Get(Files, ComposeFiles, ComposeFiles.named(entries, RECORD))
    texts = await Get(DigestContents, Digest, record.digest)
    made = request.made
    said = read_result(_Record, texts[0].content.decode(), made.address, made.action)
    # NB: a graph names files without folders.
    weights = [file.at(file.name) for file in request.weights.entries]
    beside = (*outputs.entries, *weights)
    data = await Get(Files, ComposeFiles, ComposeFiles.named(beside, *said.external_data))
    return Graph(graph, data, record)


def rules() -> Iterable[Any]:
    return collect_rules()

"""The tasks that are known, and the parts of their rooms, loaded when they are asked for.

A task is a folder and one row of `TASKS`. The folder has `signature.py` (inputs, outputs and their
axes), `torch_module.py` (what the torch exporter traces), `feed.py` (tensors from tokens),
`measure.py` (numbers beside the reference) and `runner.py` (its form of `enginewright.run`). A task
that nothing is exported for has neither of the first two. They are imported by name, so that a
step's sandbox holds only the room that the step needs.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from enginewright.errors import InputError, Problem


@dataclass(frozen=True)
class Task:
    name: str
    """As a BUILD file and `engine.json` say it."""
    room: str
    """Dotted name of the package with its parts; several tasks may share one."""
    usage: str
    """Arguments of `enginewright.run` after the engine's folder, for a package's README."""
    is_decoder: bool = False
    """Whether the graph of a causal decoder computes it: what the direct exporter writes."""
    has_cache: bool = False
    """Whether keys and values of earlier tokens are inputs and outputs of that graph."""
    classes: str | None = None
    """How the names of the library's classes end that compute it, whatever their family: the torch
    exporter traces them in a generic form. Empty: of every class, without its head."""
    is_exported: bool = True
    """Whether a checkpoint can be exported for it; else only files that exist are of it."""
    has_recipe: bool = False
    """Whether its graph ends with the checkpoint's own recipe for embeddings (embedding.json)."""

    def takes(self, architecture: str) -> bool:
        """Whether the generic form computes it for the class of that name."""
        return self.classes is not None and architecture.endswith(self.classes)

    def part(self, name: str) -> Any:
        """A module of the room, such as `measure`."""
        return importlib.import_module(f"{self.room}.{name}")


_EXTRACTION = "enginewright.tasks.feature_extraction"
_CLASSIFICATION = "enginewright.tasks.classification"
_TENSORS = "enginewright.tasks.raw_tensors"
_GENERATION = "enginewright.tasks.text_generation"
_PROMPT = '--prompt "Once upon a time"'

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "feature-extraction", _EXTRACTION, "--lines sentences.txt", has_recipe=True, classes=""
        ),
        Task(
            "text-classification",
            _CLASSIFICATION,
            "--pairs pairs.tsv",
            classes="ForSequenceClassification",
        ),
        Task(
            "token-classification",
            _CLASSIFICATION,
            "--lines sentences.txt",
            classes="ForTokenClassification",
        ),
        Task("raw-tensors", _TENSORS, "--tensors inputs.npz", is_exported=False),
        Task("text-generation", _GENERATION, _PROMPT, is_decoder=True),
        Task("text-generation-with-past", _GENERATION, _PROMPT, is_decoder=True, has_cache=True),
    )
}


def find_task(name: str, where: str) -> Task:
    """Raise `InputError` for a name that no row has; `where` is the place that says it."""
    task = TASKS.get(name)
    if task is None:
        raise InputError(Problem("unknown task", where, " or ".join(sorted(TASKS)), repr(name)))
    return task


def task_names() -> list[str]:
    """Those that a checkpoint can be exported for.

    Asked when a parameter is read: a room may be registered after this module was imported.
    """
    return sorted(name for name, task in TASKS.items() if task.is_exported)

"""What a model can be exported for: a task is one row here, and a room in `enginewright.tasks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional, Tuple


@dataclass(frozen=True)
class Task:
    name: str
    room: str
    """Its package in `enginewright.tasks`; several tasks may share one."""
    dataset: str
    """Alias of the target that an `engine_test` of it measures with."""
    axes: Tuple[str, ...]
    """What a traced graph leaves dynamic."""
    describes: str
    """For the field's help."""
    read_beside: Optional[Tuple[str, ...]] = None
    """Names of the files beside a model that a measurement reads; None: any of them."""
    is_decoder: bool = False
    """Whether the exporter `direct` writes its graph, and its size follows from the config."""
    is_exported: bool = True
    """Whether a checkpoint can be exported for it."""
    has_recipe: bool = False
    """Whether its graph ends with the checkpoint's own recipe for embeddings."""
    has_cache: bool = False
    """Whether its graph keeps keys and values; only the exporter `direct` writes such a one."""

    runs_on_device: bool = False
    """Whether its room has `on_device` and `speed`, which measure an engine on a GPU."""

    def is_read(self, name: str) -> bool:
        """Whether a measurement reads the file of that name beside the model."""
        return self.read_beside is None or name in self.read_beside

    def module(self, part: str) -> str:
        """Dotted name of a part of its room, such as `measure`."""
        return f"enginewright.tasks.{self.room}.{part}"


TASKS: Dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "text-generation",
            "text_generation",
            "text_dataset",
            ("batch", "sequence"),
            "input_ids to logits",
            read_beside=("tokenizer.json",),
            is_decoder=True,
            runs_on_device=True,
        ),
        Task(
            "text-generation-with-past",
            "text_generation",
            "text_dataset",
            ("batch", "sequence"),
            "the same with a KV cache; exporter `direct`",
            read_beside=("tokenizer.json",),
            is_decoder=True,
            has_cache=True,
            runs_on_device=True,
        ),
        Task(
            "feature-extraction",
            "feature_extraction",
            "text_dataset",
            ("batch", "sequence"),
            "input_ids and attention_mask to embeddings",
            has_recipe=True,
        ),
        Task(
            "text-classification",
            "classification",
            "text_dataset",
            ("batch", "sequence"),
            "input_ids, attention_mask and token_type_ids to logits, of a text or a pair",
            read_beside=("tokenizer.json",),
        ),
        Task(
            "token-classification",
            "classification",
            "text_dataset",
            ("batch", "sequence"),
            "input_ids and attention_mask to logits of each token",
            read_beside=("tokenizer.json",),
        ),
        Task(
            "raw-tensors",
            "raw_tensors",
            "tensor_dataset",
            (),
            "whatever inputs and outputs the graph has",
            is_exported=False,
        ),
    )
}


ANY_GRAPH = next(task for task in TASKS.values() if not task.axes)
"""What a graph is measured as that is compared with the file that it was made of."""


def device_modules() -> Tuple[str, ...]:
    """What measures an engine on a GPU, of every room that does, once."""
    found = [task for task in TASKS.values() if task.runs_on_device]
    parts = ("on_device", "speed")
    return tuple(dict.fromkeys(task.module(part) for task in found for part in parts))


def modules(part: str) -> Tuple[str, ...]:
    """That part of every room, once."""
    return tuple(dict.fromkeys(task.module(part) for task in TASKS.values()))

"""The model card of a bill of materials, from `engine.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from enginewright.engines.manifest import Manifest
from enginewright.engines.tensor import EngineTensor


@dataclass(frozen=True)
class ModelCard:
    task: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, manifest: Manifest) -> ModelCard:
        return cls(
            manifest.task,
            tuple(_format(one) for one in manifest.tensors if one.mode == "input"),
            tuple(_format(one) for one in manifest.tensors if one.mode == "output"),
            (
                ("enginewright:product", f"{manifest.product.name} {manifest.product.version}"),
                ("enginewright:reproducibility", manifest.reproducibility),
                ("enginewright:source", f"{manifest.source.kind} {manifest.source.address}"),
            ),
        )

    def to_json(self, datasets: Sequence[str]) -> dict[str, Any]:
        """`modelCard` of the schema; `datasets` are references to components."""
        return {
            "modelParameters": {
                "task": self.task,
                "inputs": [{"format": text} for text in self.inputs],
                "outputs": [{"format": text} for text in self.outputs],
                **({"datasets": [{"ref": one} for one in datasets]} if datasets else {}),
            },
            "properties": [{"name": name, "value": value} for name, value in self.facts],
        }


def _format(tensor: EngineTensor) -> str:
    shape = ", ".join(map(str, tensor.shape))
    return f"{tensor.name}: {tensor.dtype} [{shape}]"

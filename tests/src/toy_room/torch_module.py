"""What the torch exporter traces for the toy."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from enginewright.checkpoint.config import Config
from toy_room.signature import SIGNATURE


class FirstWord(torch.nn.Module):
    """`input_ids` int64 [batch, sequence] to `first` [batch, hidden]."""

    signature: ClassVar = SIGNATURE

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = self.model.embeddings.word_embeddings(input_ids[:, 0])
        return vectors


def check(config: Config, task: str) -> None:
    assert (config.model_type, task) == ("bert", "first-word")


def make(model: torch.nn.Module, config: Config) -> FirstWord:
    del config
    return FirstWord(model)

"""What the torch exporter traces for text generation."""

from __future__ import annotations

from typing import ClassVar

import torch

from enginewright.checkpoint.config import Config, DecoderConfig
from enginewright.exporters.torch.attention_mask import causal_masks
from enginewright.tasks.text_generation.signature import SIGNATURE


class TextGeneration(torch.nn.Module):
    """`input_ids` int64 [batch, sequence] to `logits` [batch, sequence, vocab_size].

    Every position attends to itself and all before it: pad on the right and ignore those logits.
    """

    signature: ClassVar = SIGNATURE

    def __init__(self, model: torch.nn.Module, config: DecoderConfig) -> None:
        super().__init__()
        self.model = model
        self.config = config

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(input_ids.shape[1])
        logits: torch.Tensor = self.model(
            input_ids=input_ids,
            attention_mask=causal_masks(
                self.config, positions, next(self.model.parameters()).dtype
            ),
            # One row for each sequence: TensorRT for RTX wants the cosines of the whole batch.
            position_ids=positions[None].expand(input_ids.shape[0], -1),
            use_cache=False,
        ).logits
        return logits


def make(model: torch.nn.Module, config: Config) -> TextGeneration:
    """The module that is exported, of a config that `check` took."""
    assert isinstance(config, DecoderConfig)
    return TextGeneration(model, config)

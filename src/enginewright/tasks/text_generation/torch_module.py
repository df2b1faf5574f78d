"""What the torch exporter traces for text generation."""

from __future__ import annotations

from typing import ClassVar

import torch

from enginewright.checkpoint.config import Config, DecoderConfig
from enginewright.exporters.torch.attention_mask import masked_value
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
        self.layer_types: list[str] = getattr(model.config, "layer_types", None) or []

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(input_ids.shape[1])
        logits: torch.Tensor = self.model(
            input_ids=input_ids,
            attention_mask=self._masks(positions, next(self.model.parameters()).dtype),
            # One row for each sequence: TensorRT for RTX wants the cosines of the whole batch.
            position_ids=positions[None].expand(input_ids.shape[0], -1),
            use_cache=False,
        ).logits
        return logits

    def _masks(
        self, positions: torch.Tensor, dtype: torch.dtype
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        """Shape [1, 1, sequence, sequence], one for each kind of layer that the model has."""
        distance = positions[:, None] - positions[None, :]
        causal = distance >= 0
        window = self.config.sliding_window
        kinds = {"full_attention": causal}
        if window is not None:
            kinds["sliding_attention"] = causal & (distance < window)
        zero = torch.zeros((), dtype=dtype)
        masks = {
            kind: torch.where(visible, zero, masked_value(dtype))[None, None]
            for kind, visible in kinds.items()
        }
        if self.config.family.layer_types:
            return masks
        return masks["full_attention" if window is None else "sliding_attention"]


def make(model: torch.nn.Module, config: Config) -> TextGeneration:
    """The module that is exported, of a config that `check` took."""
    assert isinstance(config, DecoderConfig)
    return TextGeneration(model, config)

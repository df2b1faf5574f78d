"""What the torch exporter traces for sentence embeddings."""

from __future__ import annotations

from typing import ClassVar

import torch

from enginewright.checkpoint.config import Config
from enginewright.checkpoint.embedding import EmbeddingDescription, EmbeddingRecipe
from enginewright.exporters.torch.attention_mask import masked_value
from enginewright.exporters.torch.pooling import pool
from enginewright.tasks.feature_extraction.signature import SIGNATURE


class FeatureExtraction(torch.nn.Module):
    """Sentence embeddings as the checkpoint's own recipe makes them.

    `input_ids` and `attention_mask` int64 [batch, sequence] to `embeddings` float32
    [batch, hidden_size], wider by a factor where the recipe joins several poolings. Padding is on
    the right.
    """

    signature: ClassVar = SIGNATURE

    def __init__(self, model: torch.nn.Module, recipe: EmbeddingRecipe) -> None:
        super().__init__()
        self.model = model
        self.recipe = recipe

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        dtype = next(self.model.parameters()).dtype
        batch, sequence = input_ids.shape
        hidden = (1 - attention_mask)[:, None, None, :].to(dtype) * masked_value(dtype)
        # ONNX Runtime's Attention does not broadcast a mask over the queries.
        hidden_mask = hidden.expand(batch, 1, sequence, sequence)
        states = self.model(
            input_ids=input_ids, attention_mask=hidden_mask
        ).last_hidden_state.float()
        pooled = pool(states, attention_mask, self.recipe.pooling)
        if not self.recipe.normalized:
            return pooled
        return torch.nn.functional.normalize(pooled, dim=1)


def make(
    model: torch.nn.Module,
    config: Config,  # noqa: ARG001 (one signature for all rooms)
    embedding: EmbeddingDescription,
) -> FeatureExtraction:
    """The module that is exported; raise `InputError` where no recipe is known."""
    return FeatureExtraction(model, embedding.required())

"""What the torch exporter traces for sentence embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from enginewright.checkpoint.config import Config, DecoderConfig, EncoderConfig
from enginewright.checkpoint.embedding import EmbeddingDescription, EmbeddingRecipe
from enginewright.exporters.torch.attention_mask import causal_masks, masked_value
from enginewright.exporters.torch.pooling import pool
from enginewright.tasks.feature_extraction.signature import SIGNATURE

States = Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]
"""A model's last states [batch, sequence, hidden] of ids and mask."""


class FeatureExtraction(torch.nn.Module):
    """Sentence embeddings as the checkpoint's own recipe makes them.

    `input_ids` and `attention_mask` int64 [batch, sequence] to `embeddings` float32
    [batch, width]: the hidden size, wider by a factor where the recipe joins several poolings, or
    the outputs of its last dense layer. Padding is on the right.
    """

    signature: ClassVar = SIGNATURE

    def __init__(self, model: torch.nn.Module, states: States, recipe: EmbeddingRecipe) -> None:
        super().__init__()
        self.model = model
        self.states = states
        self.recipe = recipe
        self.dense = torch.nn.ModuleList()
        """One module for each dense layer of the recipe, with its weights."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states = self.states(self.model, input_ids, attention_mask).float()
        vectors = pool(states, attention_mask, self.recipe.pooling)
        for layer in self.dense:
            vectors = layer(vectors)
        if not self.recipe.normalized:
            return vectors
        return torch.nn.functional.normalize(vectors, dim=1)


def _encoder(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    dtype = next(model.parameters()).dtype
    batch, sequence = ids.shape
    hidden = (1 - mask)[:, None, None, :].to(dtype) * masked_value(dtype)
    # ONNX Runtime's Attention does not broadcast a mask over the queries.
    hidden_mask = hidden.expand(batch, 1, sequence, sequence)
    states: torch.Tensor = model(input_ids=ids, attention_mask=hidden_mask).last_hidden_state
    return states


def _decoder(config: DecoderConfig) -> States:
    """What follows a token has no part in its state, so padding on the right needs no mask."""

    def states(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
        positions = torch.arange(ids.shape[1])
        found: torch.Tensor = model(
            input_ids=ids,
            attention_mask=causal_masks(config, positions, next(model.parameters()).dtype),
            position_ids=positions[None].expand(ids.shape[0], -1),
            use_cache=False,
        ).last_hidden_state
        return found

    return states


def _any(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """With the library's own code for masks."""
    states: torch.Tensor = model(input_ids=ids, attention_mask=mask).last_hidden_state
    return states


def make(
    model: torch.nn.Module, config: Config, embedding: EmbeddingDescription
) -> FeatureExtraction:
    """The module that is exported; raise `InputError` where no recipe is known."""
    states: States = _any
    if isinstance(config, DecoderConfig):
        states = _decoder(config)
    elif isinstance(config, EncoderConfig):
        states = _encoder
    return FeatureExtraction(model, states, embedding.required())

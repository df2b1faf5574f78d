"""What the torch exporter traces for sentence embeddings."""

from __future__ import annotations

from typing import ClassVar

import torch

from enginewright.checkpoint.config import Config, EncoderConfig
from enginewright.errors import InputError, Problem
from enginewright.exporters.torch.attention_mask import masked_value
from enginewright.tasks.feature_extraction.signature import SIGNATURE


class FeatureExtraction(torch.nn.Module):
    """Sentence embeddings as sentence-transformers makes them for MiniLM.

    `input_ids` and `attention_mask` int64 [batch, sequence] to `embeddings` float32
    [batch, hidden_size]: the mean over the tokens whose mask is 1, with length 1. A sentence
    without any token gets zeros.
    """

    signature: ClassVar = SIGNATURE

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        dtype = next(self.model.parameters()).dtype
        batch, sequence = input_ids.shape
        hidden = (1 - attention_mask)[:, None, None, :].to(dtype) * masked_value(dtype)
        # ONNX Runtime's Attention does not broadcast a mask over the queries.
        hidden_mask = hidden.expand(batch, 1, sequence, sequence)
        states = self.model(
            input_ids=input_ids, attention_mask=hidden_mask
        ).last_hidden_state.float()
        weights = attention_mask[:, :, None].float()
        mean = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def check(config: Config, task: str) -> None:
    """Raise `InputError` when a model of `config` cannot do the task; needs no weights."""
    if not isinstance(config, EncoderConfig):
        raise InputError(
            Problem(
                "the model cannot do the task",
                "parameter `task`",
                f"a `BertModel` for {task}",
                f"`{config.architecture}`",
            )
        )


def make(model: torch.nn.Module, config: Config) -> FeatureExtraction:  # noqa: ARG001
    """The module that is exported, of a config that `check` took."""
    return FeatureExtraction(model)

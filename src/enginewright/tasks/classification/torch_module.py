"""What the torch exporter traces for classes of texts and tokens."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from enginewright.checkpoint.config import Config
from enginewright.tasks.classification.signature import signature_of
from enginewright.tasks.registry import TASKS


class Classification(torch.nn.Module):
    """`input_ids` and `attention_mask` int64 [batch, sequence], and `token_type_ids` where the
    model has more than one type, to `logits` float32 [batch, labels], or [batch, sequence, labels]
    where the class is one of tokens. Padding is on the right.
    """

    def __init__(self, model: Any, *, by_token: bool) -> None:
        super().__init__()
        self.model = model
        takes_types = "token_type_ids" in inspect.signature(model.forward).parameters
        types = getattr(model.config, "type_vocab_size", None) or 0
        self.signature = signature_of(with_types=takes_types and types > 1, by_token=by_token)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        logits: torch.Tensor = self.model(
            input_ids=input_ids, attention_mask=attention_mask, **types
        ).logits
        return logits.float()


def make(model: torch.nn.Module, config: Config) -> Classification:
    """The module that is exported."""
    return Classification(model, by_token=TASKS["token-classification"].takes(config.architecture))

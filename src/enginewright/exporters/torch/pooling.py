"""From the vectors of a sentence's tokens to one: the poolings of sentence-transformers.

Formulas and their order are those of `models.Pooling` in sentence-transformers 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

LEAST = 1e-9
"""What a sum of weights is at least: a sentence without any token gets zeros."""


def pool(states: torch.Tensor, mask: torch.Tensor, modes: tuple[str, ...]) -> torch.Tensor:
    """`states` float32 [batch, sequence, hidden] and `mask` [batch, sequence], 1 for a token.

    Returns [batch, hidden * number of modes].
    """
    pooled = [_POOLINGS[mode](states, mask) for mode in modes]
    return pooled[0] if len(pooled) == 1 else torch.cat(pooled, dim=1)


def _cls(states: torch.Tensor, _mask: torch.Tensor) -> torch.Tensor:
    return states[:, 0]


def _max(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return torch.where(mask[:, :, None] > 0, states, -(LEAST**-1)).amax(1)


def _mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weights = mask[:, :, None].float()
    return (states * weights).sum(1) / weights.sum(1).clamp(min=LEAST)


def _mean_by_root(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weights = mask[:, :, None].float()
    return (states * weights).sum(1) / weights.sum(1).clamp(min=LEAST).sqrt()


def _mean_by_place(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    places = torch.arange(1, mask.shape[1] + 1, dtype=torch.float32)
    weights = (mask.float() * places)[:, :, None]
    return (states * weights).sum(1) / weights.sum(1).clamp(min=LEAST)


def _last(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    places = torch.arange(mask.shape[1])
    last = torch.where(mask > 0, places, 0).amax(1, keepdim=True)
    return (states * (places == last)[:, :, None].float() * mask[:, :, None].float()).sum(1)


_POOLINGS: Mapping[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "cls": _cls,
    "max": _max,
    "mean": _mean,
    "mean_sqrt_len_tokens": _mean_by_root,
    "weightedmean": _mean_by_place,
    "lasttoken": _last,
}
"""By the names of `checkpoint.embedding.MODES`."""

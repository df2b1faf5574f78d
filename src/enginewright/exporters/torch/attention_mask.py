"""Attention masks of exported modules: one addition, which every runtime has.

The library's own code makes a graph that depends on its version, and searches the positions for
packed sequences.
"""

from __future__ import annotations

import torch

from enginewright.checkpoint.config import DecoderConfig


def masked_value(dtype: torch.dtype) -> float:
    """What is added to an attention score to mask it.

    Half of the least finite number: the softmax gives zero for it, and a negative score added to
    it stays finite. With the least number itself such a sum is minus infinity in float16, and a
    row in which all is masked becomes NaN.
    """
    return torch.finfo(dtype).min / 2


def causal_masks(
    config: DecoderConfig, positions: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor | dict[str, torch.Tensor]:
    """Shape [1, 1, sequence, sequence], one for each kind of layer that the model has.

    Every position sees itself and all before it, as far as its layer's window reaches.
    """
    distance = positions[:, None] - positions[None, :]
    causal = distance >= 0
    window = config.sliding_window
    kinds = {"full_attention": causal}
    if window is not None:
        kinds["sliding_attention"] = causal & (distance < window)
    zero = torch.zeros((), dtype=dtype)
    masks = {
        kind: torch.where(visible, zero, masked_value(dtype))[None, None]
        for kind, visible in kinds.items()
    }
    if config.family.layer_types:
        return masks
    return masks["full_attention" if window is None else "sliding_attention"]

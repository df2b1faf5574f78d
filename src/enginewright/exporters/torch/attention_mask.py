"""Attention masks of exported modules: one addition, which every runtime has.

The library's own code makes a graph that depends on its version, and searches the positions for
packed sequences.
"""

from __future__ import annotations

import torch


def masked_value(dtype: torch.dtype) -> float:
    """What is added to an attention score to mask it.

    Half of the least finite number: the softmax gives zero for it, and a negative score added to
    it stays finite. With the least number itself such a sum is minus infinity in float16, and a
    row in which all is masked becomes NaN.
    """
    return torch.finfo(dtype).min / 2

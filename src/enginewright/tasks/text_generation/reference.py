"""The language model of a checkpoint, as transformers computes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from enginewright.tasks.text_generation.feed import Logits
from enginewright.validation.reference_model import ReferenceModel


def logits_of(reference: ReferenceModel, tokens: Sequence[int]) -> Logits:
    """Of one row alone, without padding and without a cache: [tokens, vocabulary]."""
    ids = torch.tensor([list(tokens)], device=reference.device)
    with torch.inference_mode():
        output = reference.module(input_ids=ids, use_cache=False)
    logits = output.logits[0]
    if logits.dtype in (torch.bfloat16, torch.float16):  # numpy knows only one of them
        logits = logits.float()
    return np.asarray(logits.cpu().numpy())

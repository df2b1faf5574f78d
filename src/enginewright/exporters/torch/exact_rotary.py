"""Rotary embeddings of a loaded model, computed the same way on every processor.

transformers computes them with torch, whose powers differ in their last bit between processors with
and without AVX2. Cosine and sine are nodes of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from enginewright.checkpoint.config import DecoderConfig
from enginewright.errors import InputError, Problem
from enginewright.exporters.direct.rotary_frequencies import rotary_of

_TOLERANCE = 1e-5
"""Relative: what float32 arithmetic in another order can come to."""


def use_exact_rotary(model: torch.nn.Module, config: DecoderConfig) -> None:
    """Change the frequencies of `model` in place.

    Raises `InputError` where the library's frequencies are not those that `config` declares.
    """
    modules: Iterator[Any] = model.modules()
    for module in modules:
        library = getattr(module, "inv_freq", None)
        if not isinstance(library, torch.Tensor):
            continue
        rotary = rotary_of(config, 2 * library.numel())
        exact = torch.from_numpy(rotary.inverse_frequencies)
        if not torch.allclose(exact, library.float(), rtol=_TOLERANCE, atol=0.0):
            what = "the library computes other rotary frequencies than the config declares"
            raise InputError(Problem(what, "config.json, `rope_parameters`"))
        module.inv_freq = exact
        module.original_inv_freq = exact.clone()
        module.attention_scaling = rotary.attention_scaling

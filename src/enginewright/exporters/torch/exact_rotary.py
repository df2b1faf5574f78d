"""Rotary embeddings of a loaded model, computed the same way on every processor.

transformers computes them with torch, whose powers differ in their last bit between processors with
and without AVX2. Where the length is static the exporter computes cosine and sine, too, with numpy,
whose last bits differ as well.
"""

from __future__ import annotations

import numpy as np
import torch

from enginewright import exact_math
from enginewright.checkpoint.config import DecoderConfig
from enginewright.errors import InputError, Problem
from enginewright.exporters.direct.rotary_frequencies import RotaryEmbedding, rotary_of

_TOLERANCE = 1e-5
"""Relative: what float32 arithmetic in another order can come to."""


class RotaryTables(torch.nn.Module):
    """Stands for a rotary embedding of transformers, at positions 0 to `length` - 1."""

    def __init__(self, rotary: RotaryEmbedding, length: int) -> None:
        super().__init__()
        # Rounded as the model rounds: an angle is a product in float32.
        positions = np.arange(length, dtype=np.float32)[:, None]
        angles = (positions * rotary.inverse_frequencies).astype(np.float64)
        scaling = np.float32(rotary.attention_scaling)
        cosine, sine = (
            torch.from_numpy(np.tile(table.astype(np.float32) * scaling, 2))
            for table in exact_math.cosine_and_sine(angles)
        )
        self.cosine = torch.nn.Buffer(cosine, persistent=False)
        self.sine = torch.nn.Buffer(sine, persistent=False)

    def forward(
        self, x: torch.Tensor, position_ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Two tables [batch, length, head_dim] in the type of `x`."""
        shape = (position_ids.shape[0], -1, -1)
        return (
            self.cosine[None].expand(*shape).to(x.dtype),
            self.sine[None].expand(*shape).to(x.dtype),
        )


def use_exact_rotary(model: torch.nn.Module, config: DecoderConfig, length: int | None) -> None:
    """Change `model` in place; `length` is that of every sequence, or None where it is dynamic.

    Raises `InputError` where the library's frequencies are not those that `config` declares.
    """
    for name, module in list(model.named_modules()):
        library = getattr(module, "inv_freq", None)
        if not isinstance(library, torch.Tensor):
            continue
        rotary = rotary_of(config, 2 * library.numel())
        exact = torch.from_numpy(rotary.inverse_frequencies)
        if not torch.allclose(exact, library.float(), rtol=_TOLERANCE, atol=0.0):
            what = "the library computes other rotary frequencies than the config declares"
            raise InputError(Problem(what, "config.json, `rope_parameters`"))
        if length is not None:
            model.set_submodule(name, RotaryTables(rotary, length))
            continue
        module.inv_freq = exact
        module.original_inv_freq = exact.clone()
        module.attention_scaling = rotary.attention_scaling

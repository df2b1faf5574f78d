"""The decoder as an exported program, without memory for its weights."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from enginewright.exporters.direct.decoder_architecture import DecoderArchitecture
from enginewright.products.aotinductor.decoder import Decoder
from enginewright.products.aotinductor.request import ShapeLimits


def export(
    architecture: DecoderArchitecture,
    dtype: torch.dtype,
    limits: ShapeLimits,
    device: str,
    mode: Any,
) -> ExportedProgram:
    """Trace the decoder; batch, sequence, kept places and reach of the cache stay free.

    `mode` is the fake tensor mode of `replaced_names.replaced`, None to trace with real tensors.
    """
    inputs_mode: Any = contextlib.nullcontext()
    weights_mode: Any = contextlib.nullcontext()
    if mode is not None:
        from torch._subclasses.fake_tensor import FakeTensorMode

        inputs_mode, weights_mode = FakeTensorMode(), mode
    with inputs_mode, torch.device(device):
        inputs = _examples(architecture, dtype)
    with weights_mode, torch.device(device):
        decoder = Decoder(architecture, dtype).eval()
    batch: Any = Dim("batch", min=1, max=limits.batch) if limits.batch > 1 else None
    sequence = Dim("sequence", min=1, max=limits.sequence)
    kept = Dim("kept", min=1, max=limits.sequence)
    reach = Dim("reach", min=2, max=limits.reach)
    layers = len(architecture.sliding_windows)
    if batch is None:
        inputs = _first_rows(inputs)
    shapes = (
        _axes({0: batch, 1: sequence}),
        _axes({0: sequence, 1: batch}),
        {0: kept},
        [_axes({0: reach, 1: batch})] * (2 * layers),
    )
    with torch.no_grad():
        return torch.export.export(decoder, inputs, dynamic_shapes=shapes, strict=False)


def _axes(axes: dict[int, Any]) -> dict[int, Any]:
    return {axis: dim for axis, dim in axes.items() if dim is not None}


def _examples(architecture: DecoderArchitecture, dtype: torch.dtype) -> tuple[Any, ...]:
    """Inputs of sizes that mean nothing, each above 1 and no two alike."""
    batch, sequence, kept, reach = 2, 8, 3, 16
    cache = (reach, batch, architecture.kv_heads, architecture.head_dim)
    return (
        torch.zeros(batch, sequence, dtype=torch.int64),
        torch.zeros(sequence, batch, dtype=torch.int64),
        torch.zeros(kept, dtype=torch.int64),
        [torch.zeros(cache, dtype=dtype) for _ in range(2 * len(architecture.sliding_windows))],
    )


def _first_rows(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    input_ids, positions, keep, caches = inputs
    return input_ids[:1], positions[:, :1], keep, [cache[:, :1].contiguous() for cache in caches]

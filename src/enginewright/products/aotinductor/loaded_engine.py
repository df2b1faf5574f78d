"""A compiled decoder with its weights, on the device that it was made for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from enginewright.errors import Problem, raise_if_any
from enginewright.products.aotinductor.request import ShapeLimits

SMALLEST_REACH = 64
MODEL = "model"
"""Name of the one model in the package that torch writes."""


@dataclass(frozen=True)
class CacheShape:
    layers: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype

    def empty(self, reach: int, batch: int, device: str) -> list[Tensor]:
        """Key, value, key, value, ... of an empty cache for `reach` tokens of `batch` rows."""
        shape = (reach, batch, self.kv_heads, self.head_dim)
        return [torch.zeros(shape, dtype=self.dtype, device=device) for _ in range(2 * self.layers)]


class LoadedEngine:
    """Checks what it is given, since compiled code does not."""

    def __init__(
        self,
        engine: Path,
        weights: Iterable[Path],
        cache: CacheShape,
        limits: ShapeLimits,
        tied: Sequence[str] = (),
    ) -> None:
        """Load `engine` and the tensors that it names from the safetensors files `weights`.

        Tensors of `tied` stand for each other where only one is stored. Raises `InputError` when
        no file has one of the others. The loader is torch's plain one: the usual one
        (`aoti_load_package`) compiles C++ programs first to learn about the processor.
        """
        # One call at a time and no event a call, so that a CUDA graph can hold it.
        self._loader = torch._C._aoti.AOTIModelPackageLoader(str(engine), MODEL, True, 1, -1)
        self.device = str(self._loader.get_metadata()["AOTI_DEVICE_KEY"])
        self.cache = cache
        self.limits = limits
        names = self._loader.get_constant_fqns()
        constants = _read(weights, names, tied, self.device, str(engine))
        # The engine points into them: a copy would take the memory twice.
        self._loader.load_constants(constants, False, True, True)
        self._constants = constants

    def reach_of(self, tokens: int) -> int:
        """How much of the cache a call sees that needs `tokens` of it: few sizes, so few graphs."""
        size = SMALLEST_REACH
        while size < tokens:
            size *= 2
        return min(size, self.limits.reach)

    def run(
        self, input_ids: Tensor, positions: Tensor, keep: Tensor, caches: list[Tensor]
    ) -> Tensor:
        """Logits [batch, kept, vocabulary]; shapes as `decoder.DecoderInputs` says.

        Raises `ValueError` for a shape that the engine was not compiled for.
        """
        batch, sequence = input_ids.shape
        reach = caches[0].shape[0]
        expected = (reach, batch, self.cache.kv_heads, self.cache.head_dim)
        if (
            positions.shape != (sequence, batch)
            or not 1 <= batch <= self.limits.batch
            or not 1 <= sequence <= self.limits.sequence
            or not 2 <= reach <= self.limits.reach
            or len(caches) != 2 * self.cache.layers
            or any(tuple(item.shape) != expected or not item.is_contiguous() for item in caches)
        ):
            raise ValueError(f"not compiled for {batch=}, {sequence=}, {reach=}: {self.limits}")
        outputs: list[Tensor] = self._loader.boxed_run([input_ids, positions, keep, *caches])
        return outputs[0]


def _read(
    files: Iterable[Path], names: Iterable[str], tied: Sequence[str], device: str, engine: str
) -> dict[str, Tensor]:
    wanted = set(names)
    found: dict[str, Any] = {}
    for file in files:
        with safe_open(str(file), "pt", device=device) as tensors:
            for name in wanted.intersection(tensors.keys()):
                found[name] = tensors.get_tensor(name)
    stored = next((found[name] for name in tied if name in found), None)
    if stored is not None:
        found.update({name: stored for name in tied if name not in found})
    raise_if_any(
        [
            Problem("no weights file has a tensor of the engine", engine, name)
            for name in sorted(wanted - {*found})
        ]
    )
    return found

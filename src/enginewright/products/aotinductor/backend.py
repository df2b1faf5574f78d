"""Executes an AOTInductor engine, by the names that any decoder with a KV cache has.

The engine knows no padding: each row of its cache begins at place 0. Tokens that the mask leaves
out go to places after the row's own, which later tokens write before they are seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from enginewright.document import decode
from enginewright.engines.backend import Array, Backend, Held
from enginewright.engines.package import EnginePackage
from enginewright.errors import InputError, Problem
from enginewright.products.aotinductor.greedy_decoding import GreedyDecoding
from enginewright.products.aotinductor.loaded_engine import CacheShape, LoadedEngine
from enginewright.products.aotinductor.table import AotInductorTable

PAST = "past_key_values."
PRESENT = "present."


def open_backend(package: EnginePackage, threads: int) -> Backend:
    """Raises `InputError` where the engine is for a GPU that is not here."""
    where = f"{package.folder}, engine.json, own"
    table = decode(AotInductorTable, package.manifest.own, where)
    if table.gpu is not None:
        _require_gpu(str(table.gpu.compute_capability), where)
    if threads:
        torch.set_num_threads(threads)
    cache = CacheShape(table.layers, table.kv_heads, table.head_dim, getattr(torch, table.dtype))
    weights = [
        package.folder / name for name in package.manifest.files if name.endswith(".safetensors")
    ]
    engine = LoadedEngine(package.folder / table.engine, weights, cache, table.limits, table.tied)
    return AotInductorBackend(engine)


def _require_gpu(capability: str, where: str) -> None:
    here = "no GPU that torch can use"
    if torch.cuda.is_available():
        here = "{}.{}".format(*torch.cuda.get_device_capability())
        if here == capability:
            return
    raise InputError(
        Problem(
            "the engine is for another GPU than the one here",
            f"{where}.gpu",
            f"compute capability {capability}",
            here,
            "run it on such a GPU, or build the target without `gpu` for a processor",
        )
    )


class AotInductorBackend:
    def __init__(self, engine: LoadedEngine) -> None:
        self._engine = engine
        self._decoding: GreedyDecoding | None = None
        """That of the last number of rows: its graphs are recorded once."""

    def empty(self, name: str, batch: int) -> Tensor:
        """Room for all tokens: the engine writes in place. `name` is one of the cache's inputs."""
        assert name.startswith(PAST), name
        shape, most = self._engine.cache, self._engine.limits.reach
        size = (most, batch, shape.kv_heads, shape.head_dim)
        return torch.zeros(size, dtype=shape.dtype, device=self._engine.device)

    def run(
        self, inputs: Mapping[str, Array | Held], outputs: Sequence[str], held: Sequence[str] = ()
    ) -> tuple[Mapping[str, Array], Mapping[str, Held]]:
        mask = np.asarray(inputs["attention_mask"])
        ids = np.asarray(inputs["input_ids"])
        sequence = ids.shape[1]
        reach = self._engine.reach_of(mask.shape[1])
        caches: list[Tensor] = [inputs[name] for name in self._names()]  # type: ignore[misc]
        places = cache_places(np.asarray(inputs["position_ids"]), mask)
        with torch.no_grad():
            logits = self._engine.run(
                self._tensor(ids),
                self._tensor(places.T),
                self._tensor(np.arange(sequence)),
                [cache[:reach] for cache in caches],
            )
        kept = dict(zip(self._names(), caches, strict=True))
        found = {name: kept[name.replace(PRESENT, PAST, 1)] for name in held}
        return {name: logits.float().cpu().numpy() for name in outputs}, found

    def greedy(self, prompts: Array, count: int, block: int) -> Iterator[Array]:
        rows = len(prompts)
        if self._decoding is None or self._decoding.batch != rows:
            self._decoding = None  # its memory first
            self._decoding = GreedyDecoding(self._engine, rows, self._engine.limits.reach)
        for piece in self._decoding.generate(self._tensor(prompts), count, block):
            yield piece.cpu().numpy()

    def device_bytes(self) -> int | None:
        return torch.cuda.memory_allocated() if self._engine.device == "cuda" else None

    def _names(self) -> list[str]:
        layers = range(self._engine.cache.layers)
        return [f"{PAST}{layer}.{part}" for layer in layers for part in ("key", "value")]

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._engine.device)


def cache_places(positions: Array, mask: Array) -> Array:
    """Where each token of a call lies in the cache: int64 [batch, sequence].

    `positions` int64 [batch, sequence] counts a row's own tokens; `mask` int64 [batch, total], 1
    for them and 0 for padding, is of all tokens up to this call's last.
    """
    now = mask[:, -positions.shape[1] :] == 1
    own = mask.sum(axis=1, keepdims=True)
    padding = own + np.cumsum(~now, axis=1) - 1
    return np.where(now, positions, padding).astype(np.int64)

"""Greedy decoding that stays on the device: one CUDA graph a token, none of it waits for the host.

A graph holds one call of the engine, the choice of the likeliest token and the step to the next
position. Graphs differ in how much of the cache they see; each is recorded when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from enginewright.products.aotinductor.loaded_engine import LoadedEngine


class GreedyDecoding:
    """Buffers and graphs for `batch` rows and a cache of `reach` tokens."""

    def __init__(self, engine: LoadedEngine, batch: int, reach: int) -> None:
        self._engine = engine
        device = engine.device
        self._caches = engine.cache.empty(reach, batch, device)
        self._tokens = torch.zeros(batch, 1, dtype=torch.int64, device=device)
        self._positions = torch.zeros(1, batch, dtype=torch.int64, device=device)
        self._first = torch.zeros(1, dtype=torch.int64, device=device)
        self._written = torch.zeros(reach, batch, dtype=torch.int64, device=device)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def generate(self, prompts: Tensor, count: int) -> Tensor:
        """`count` tokens for each row of `prompts`, int64 [batch, sequence]: [batch, count]."""
        with torch.no_grad():
            length = prompts.shape[1]
            self._read(prompts)
            for step in range(length, length + count - 1):
                self._advance(self._engine.reach_of(step + 1))
            return self._written[length - 1 : length - 1 + count].t()

    def _read(self, prompts: Tensor) -> None:
        batch, length = prompts.shape
        places = torch.arange(length, device=prompts.device)
        positions = places[:, None].expand(length, batch).contiguous()
        caches = self._seen(self._engine.reach_of(length))
        logits = self._engine.run(prompts, positions, places[-1:], caches)
        self._positions.fill_(length - 1)
        self._take(logits)

    def _take(self, logits: Tensor) -> None:
        self._tokens.copy_(logits[:, -1].argmax(-1, keepdim=True))
        self._written.scatter_(0, self._positions, self._tokens.t())
        self._positions.add_(1)

    def _step(self, reach: int) -> None:
        seen = self._seen(reach)
        self._take(self._engine.run(self._tokens, self._positions, self._first, seen))

    def _advance(self, reach: int) -> None:
        if self._engine.device != "cuda":
            self._step(reach)
            return
        if reach not in self._graphs:
            self._graphs[reach] = self._record(reach)
        self._graphs[reach].replay()

    def _record(self, reach: int) -> torch.cuda.CUDAGraph:
        """The first call of a size loads kernels, which a graph cannot hold: it is made before."""
        state = [item.clone() for item in (self._tokens, self._positions, self._written)]
        self._step(reach)
        self._restore(state)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step(reach)
        self._restore(state)
        return graph

    def _restore(self, state: Sequence[Tensor]) -> None:
        for item, value in zip((self._tokens, self._positions, self._written), state, strict=True):
            item.copy_(value)

    def _seen(self, reach: int) -> list[Tensor]:
        return [cache[:reach] for cache in self._caches]

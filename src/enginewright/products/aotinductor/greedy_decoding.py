"""Greedy decoding that stays on the device: one CUDA graph a token, none of it waits for the host.

A graph holds one call of the engine, the choice of the likeliest token and the step to the next
position. Graphs differ in how much of the cache they see; each is recorded when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from enginewright.products.aotinductor.loaded_engine import LoadedEngine


class GreedyDecoding:
    """Buffers and graphs for `batch` rows and a cache of `reach` tokens."""

    def __init__(self, engine: LoadedEngine, batch: int, reach: int) -> None:
        self._engine = engine
        self.batch = batch
        self.reach = reach
        device = engine.device
        self._caches = engine.cache.empty(reach, batch, device)
        self._tokens = torch.zeros(batch, 1, dtype=torch.int64, device=device)
        self._positions = torch.zeros(1, batch, dtype=torch.int64, device=device)
        self._first = torch.zeros(1, dtype=torch.int64, device=device)
        self._written = torch.zeros(reach, batch, dtype=torch.int64, device=device)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def generate(self, prompts: Tensor, count: int, block: int) -> Iterator[Tensor]:
        """`count` tokens for each row of `prompts`, int64 [batch, sequence].

        The first comes alone, [batch, 1], the others up to `block` at a time. The device may still
        compute what is given. Raises `ValueError` for more tokens than the cache takes.
        """
        batch, length = prompts.shape
        if batch != self.batch or length + count > self.reach:
            raise ValueError(f"no room for {batch} rows of {length} and {count} tokens")
        self._read(prompts)
        yield self._written[length - 1 : length].t()
        end = length - 1 + count
        for begin in range(length, end, block):
            places = range(begin, min(begin + block, end))
            for place in places:
                self._advance(self._engine.reach_of(place + 1))
            yield self._written[places.start : places.stop].t()

    @torch.no_grad()
    def _read(self, prompts: Tensor) -> None:
        length, most = prompts.shape[1], self._engine.limits.sequence
        for begin in range(0, length, most):
            end = min(begin + most, length)
            places = torch.arange(begin, end, device=prompts.device)
            positions = places[:, None].expand(-1, self.batch).contiguous()
            caches = self._seen(self._engine.reach_of(end))
            keep = places[-1:] - begin
            part = prompts[:, begin:end].contiguous()
            logits = self._engine.run(part, positions, keep, caches)
        self._positions.fill_(length - 1)
        self._take(logits)

    def _take(self, logits: Tensor) -> None:
        self._tokens.copy_(logits[:, -1].argmax(-1, keepdim=True))
        self._written.scatter_(0, self._positions, self._tokens.t())
        self._positions.add_(1)

    def _step(self, reach: int) -> None:
        seen = self._seen(reach)
        self._take(self._engine.run(self._tokens, self._positions, self._first, seen))

    @torch.no_grad()
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

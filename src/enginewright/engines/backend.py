"""What the runner needs of an engine, whatever product executes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

Array = NDArray[Any]
Held = Any
"""An output that stays where the backend has it, to be an input of a later call."""


class Backend(Protocol):
    def empty(self, name: str, batch: int) -> Held:
        """Input `name` with `batch` rows and every other named axis 0: an empty KV cache."""

    def run(
        self, inputs: Mapping[str, Array | Held], outputs: Sequence[str], held: Sequence[str] = ()
    ) -> tuple[Mapping[str, Array], Mapping[str, Held]]:
        """Compute `outputs` as arrays of the host and `held` as they are."""

    def device_bytes(self) -> int | None:
        """Memory of the device in use, or None where the engine runs in this process's memory."""


@runtime_checkable
class Greedy(Protocol):
    """A backend that takes the likeliest token where the logits are: nothing waits for the host."""

    def greedy(self, prompts: Array, count: int, block: int) -> Iterator[Array]:
        """`count` tokens for each row of `prompts`, int64 [batch, sequence] without padding.

        The first token comes alone, int64 [batch, 1], the others up to `block` at a time. Raises
        `ValueError` for more than the engine takes.
        """

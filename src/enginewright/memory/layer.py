"""One layer of a model, as the memory of a running sequence sees it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from enginewright.memory.dtype import DTYPE_BYTES


class LayerKind(Enum):
    """What a layer keeps between two tokens."""

    FULL = "full attention"
    SLIDING = "sliding window"
    LATENT = "latent attention"
    LINEAR = "linear attention"
    STATE_SPACE = "state space"
    CONVOLUTION = "short convolution"
    SHARED = "another layer's cache"
    NONE = "nothing"


@dataclass(frozen=True)
class StateTensor:
    """A tensor of fixed size that a linear or state-space layer keeps for each sequence."""

    elements: int
    parts: int
    """Heads or groups that tensor parallelism divides; 1 for what each GPU keeps whole."""
    wide: bool
    """In float32 whatever the model computes in; else in the model's dtype."""

    def bytes(self, dtype: str, tensor_parallel: int) -> int:
        """Bytes on one GPU for a model that computes in `dtype`."""
        share = -(-self.parts // tensor_parallel)
        return self.elements // self.parts * share * (4 if self.wide else DTYPE_BYTES[dtype])


@dataclass(frozen=True)
class Layer:
    """Counts of elements. A layer may keep keys and values and a state at one time."""

    kind: LayerKind
    kv_heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    window: int = 0
    """Tokens that a sliding layer looks back, itself included; 0 for all of them."""
    latent_width: int = 0
    """Elements a token of a multi-head latent attention, the same on each GPU."""
    index_width: int = 0
    """Elements a token of the keys that choose the tokens to attend to, the same on each GPU."""
    state: tuple[StateTensor, ...] = ()

    def token_elements(self, tensor_parallel: int = 1) -> int:
        """Elements that one token adds to the cache of one GPU.

        Each GPU holds its share of the KV heads, at least one.
        """
        heads = -(-self.kv_heads // tensor_parallel)
        return heads * (self.key_dim + self.value_dim) + self.latent_width + self.index_width

    def state_bytes(self, dtype: str, tensor_parallel: int = 1) -> int:
        """Bytes that a sequence of any length keeps on one GPU."""
        return sum(tensor.bytes(dtype, tensor_parallel) for tensor in self.state)

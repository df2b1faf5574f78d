"""Bytes of one element, by the name that a config or a command line gives it."""

from __future__ import annotations

from collections.abc import Mapping

from enginewright.dtype import BY_NAME, COMPUTED

_FP8 = {"fp8": "float8_e4m3fn", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}
"""Names of servers' own; `fp8` is vLLM's for e4m3."""
DTYPE_BYTES: Mapping[str, int] = {
    name: BY_NAME[_FP8.get(name, name)].bits // 8 for name in (*COMPUTED, *_FP8, "int8")
}
"""What a KV cache can be stored in."""

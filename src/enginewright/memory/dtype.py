"""Bytes of one element, by the name that a config or a command line gives it."""

from __future__ import annotations

from collections.abc import Mapping

DTYPE_BYTES: Mapping[str, int] = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "int8": 1,
}
"""What a KV cache can be stored in."""
COMPUTED_DTYPES = ("float32", "float16", "bfloat16")
"""What a model can be computed in."""

"""`checkpoint.json`: where each tensor of a verified checkpoint lies."""

from __future__ import annotations

from typing import Any

from enginewright.checkpoint.config import Config
from enginewright.checkpoint.verify import VerifiedCheckpoint

FORMAT_VERSION = 1


def describe(config: Config, checkpoint: VerifiedCheckpoint) -> dict[str, Any]:
    """The descriptor; `begin` and `end` are offsets in bytes from the start of `file`."""
    return {
        "format_version": FORMAT_VERSION,
        "model_type": config.model_type,
        "architecture": config.architecture,
        "dtype": checkpoint.dtype,
        "parameters": checkpoint.parameters,
        "tensors": [
            {
                "name": tensor.name,
                "dtype": tensor.info.dtype,
                "shape": list(tensor.info.shape),
                "file": tensor.file,
                "begin": tensor.info.begin,
                "end": tensor.info.end,
            }
            for tensor in checkpoint.tensors
        ],
    }

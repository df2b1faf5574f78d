"""Step: which tensors differ between two safetensors files, byte by byte.

Inputs: `before` and `after`, one file each. The result has `tensors`, their number in `after`,
and the names of those that are `changed`, `added` and `removed`, in order. A tensor whose dtype or
shape is another one has changed. Nothing is put out beside the result.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from enginewright.checkpoint.safetensors_header import TensorInfo, read_header
from enginewright.step import ActionRequest, Result, main

PIECE = 1 << 24


def run(request: ActionRequest, outputs: Path) -> Result:
    del outputs
    before, after = (_tensors(request.file(role).path) for role in ("before", "after"))
    return {
        "tensors": len(after),
        "changed": [name for name in after if name in before and before[name] != after[name]],
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
    }


def _tensors(path: Path) -> dict[str, str]:
    with path.open("rb") as stream:
        digests = {}
        for tensor in sorted(read_header(path).tensors, key=lambda tensor: tensor.name):
            digest = hashlib.sha256(f"{tensor.dtype} {tensor.shape}".encode())
            stream.seek(tensor.begin)
            for length in _pieces(tensor):
                digest.update(stream.read(length))
            digests[tensor.name] = digest.hexdigest()
        return digests


def _pieces(tensor: TensorInfo) -> list[int]:
    size = tensor.end - tensor.begin
    return [min(PIECE, size - begin) for begin in range(0, size, PIECE)]


if __name__ == "__main__":
    main(run)

"""What differs between two files of safetensors."""

from __future__ import annotations

from pathlib import Path

from enginewright.checkpoint.safetensors_header import Header, quote, read_header
from enginewright.engines.first_difference import first_difference
from enginewright.errors import InputError


def differences(first: Path, second: Path) -> list[str]:
    """The tensors and metadata; empty for files of another kind, and for equal contents."""
    one, two = _header(first), _header(second)
    if one is None or two is None:
        return []
    found = ["metadata"] if dict(one.metadata) != dict(two.metadata) else []
    others = {tensor.name: tensor for tensor in two.tensors}
    for tensor in one.tensors:
        other = others.pop(tensor.name, None)
        if other is None:
            found.append(f"{quote(tensor.name)} (first build only)")
        elif (tensor.dtype, tensor.shape) != (other.dtype, other.shape):
            found.append(f"{quote(tensor.name)} (another dtype or shape)")
        elif (tensor.begin, tensor.end) != (other.begin, other.end):
            found.append(f"{quote(tensor.name)} (another place)")
        elif first_difference(first, second, tensor.begin, tensor.end) is not None:
            found.append(quote(tensor.name))
    return found + [f"{quote(name)} (second build only)" for name in sorted(others)]


def _header(path: Path) -> Header | None:
    if path.suffix != ".safetensors":
        return None
    try:
        return read_header(path)
    except InputError:
        return None

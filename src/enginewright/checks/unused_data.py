"""Bytes of the data files that no tensor of the graph names.

A weight that a graph lost, such as the bias of a layer, stays behind in its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from enginewright.checkpoint.safetensors_header import quote, read_header
from enginewright.checkpoint.tensor_layout import BUFFERS
from enginewright.checks.external_data import ExternalTensor
from enginewright.checks.findings import Findings
from enginewright.errors import Problem

PIECE = 2**20
"""Bytes read at once."""


def check_unused_data(
    tensors: tuple[ExternalTensor, ...], files: Mapping[str, Path], where: str
) -> Findings:
    """Fail for bytes between tensors that are no padding, which is zero.

    A safetensors file says what its bytes are, and a checkpoint may hold more than its graph
    needs: there it is a warning, with the names.
    """
    return Findings.join(
        _unnamed(tensors, location, path, where)
        if path.suffix == ".safetensors"
        else _unknown(tensors, location, path, where)
        for location, path in sorted(files.items())
        if any(tensor.location == location for tensor in tensors)
    )


def _unnamed(
    tensors: tuple[ExternalTensor, ...], location: str, path: Path, where: str
) -> Findings:
    used = {(tensor.begin, tensor.end) for tensor in tensors if tensor.location == location}
    unused = [
        tensor.name
        for tensor in read_header(path).tensors
        if (tensor.begin, tensor.end) not in used and not BUFFERS.search(tensor.name)
    ]
    if not unused:
        return Findings()
    names = ", ".join(quote(name) for name in unused[:10])
    more = f" and {len(unused) - 10} more" if len(unused) > 10 else ""
    warning = f"{where}: the graph does not use these weights of `{location}`: {names}{more}"
    return Findings(warnings=(warning,))


def _unknown(
    tensors: tuple[ExternalTensor, ...], location: str, path: Path, where: str
) -> Findings:
    spans = sorted((t.begin, t.end) for t in tensors if t.location == location)
    problems = []
    with path.open("rb") as stream:
        for begin, end in _gaps(spans, path.stat().st_size):
            stream.seek(begin)
            left = end - begin
            while left and not any(stream.read(min(left, PIECE))):
                left -= min(left, PIECE)
            if left:
                problems.append(
                    Problem(
                        "weights in a data file belong to no tensor of the graph",
                        f"{where}, `{location}`, bytes {begin} to {end}",
                        "zeros, between tensors",
                        "other numbers",
                        "the graph lost a weight, or the file is that of another graph: export "
                        "again",
                    )
                )
    return Findings(tuple(problems))


def _gaps(spans: list[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    position = 0
    for begin, end in [*spans, (size, size)]:
        if begin > position:
            yield position, begin
        position = max(position, end)

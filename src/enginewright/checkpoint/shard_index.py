"""The index of sharded weights (`*.index.json`) against the files that are there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from enginewright import canonical_json
from enginewright.checkpoint.safetensors_header import Header, quote
from enginewright.errors import InputError, Problem

_SHARD = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.safetensors")
_DOWNLOAD = "download the checkpoint's missing files, and list them as weights"


@dataclass(frozen=True)
class ShardIndex:
    path: Path
    files: Mapping[str, str]
    """Name of the file that holds a tensor, by the tensor's name."""


def read_index(path: Path) -> ShardIndex:
    """Read an index; raise `InputError` when it is not one."""
    weight_map = canonical_json.read_object(path).get("weight_map")
    if not isinstance(weight_map, dict) or not all(
        isinstance(file, str) for file in weight_map.values()
    ):
        raise InputError(
            Problem(
                "not an index of sharded weights",
                f"{path}, `weight_map`",
                "an object that maps each tensor to a file name",
                type(weight_map).__name__,
            )
        )
    return ShardIndex(path, weight_map)


def index_problems(
    index: ShardIndex,
    names: set[str],
    headers: Mapping[str, Header],
    optional: Set[str] = frozenset(),
) -> list[Problem]:
    """What index and files disagree about.

    `names` are the files that are there, `headers` those of them whose header could be read.
    Tensors of `optional` may be promised and not be there.
    """
    indexed = set(index.files.values())
    problems = [
        Problem("a shard of the index is missing", f"{index.path}, `{name}`", fix=_DOWNLOAD)
        for name in sorted(indexed - names)
    ]
    problems.extend(
        Problem(
            "the index does not mention a weights file",
            f"{index.path}, `weight_map`",
            f"`{name}`",
            ", ".join(f"`{file}`" for file in sorted(indexed))[:300],
            "use the index that was saved with these files, or drop the file",
        )
        for name in sorted(names - indexed)
    )
    for file, header in sorted(headers.items()):
        stored = {tensor.name for tensor in header.tensors}
        promised = {tensor for tensor, place in index.files.items() if place == file}
        problems.extend(
            Problem(
                "the index promises a tensor that its shard does not hold",
                f"{index.path}, {quote(tensor)}",
                f"a tensor in `{file}`",
                "no such tensor",
                "use the index that was saved with these files",
            )
            for tensor in sorted(promised - stored - optional)
        )
        if file not in indexed:
            continue
        problems.extend(
            Problem(
                "a shard holds a tensor that the index does not place there",
                f"{file}, {quote(tensor)}",
                f"`{index.files[tensor]}`" if tensor in index.files else "no such tensor",
                f"`{file}`",
                "use the index that was saved with these files",
            )
            for tensor in sorted(stored - promised)
        )
    return problems


def numbering_problems(names: set[str]) -> list[Problem]:
    """Shards that are missing by their own numbering, for weights without an index."""
    problems: list[Problem] = []
    series: dict[tuple[str, str], set[int]] = {}
    for name in names:
        if match := _SHARD.fullmatch(name):
            series.setdefault((match["stem"], match["count"]), set()).add(int(match["number"]))
    for (stem, count), numbers in sorted(series.items()):
        problems.extend(
            Problem(
                "a shard is missing", f"{stem}-{number:05}-of-{count}.safetensors", fix=_DOWNLOAD
            )
            for number in range(1, int(count) + 1)
            if number not in numbers
        )
    return problems

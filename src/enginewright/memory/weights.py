"""Bytes of a checkpoint's weights that a server loads, from the headers of safetensors files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from enginewright.checkpoint.safetensors_header import Header, TensorInfo, read_header
from enginewright.checkpoint.shard_index import index_problems, numbering_problems, read_index
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.memory.dtype import DTYPE_BYTES

_CONVERTED = {"F64", "F32", "F16", "BF16"}
"""Stored dtypes that a runtime converts to the dtype it computes in."""
_SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}\.safetensors")
_ADAPTER = re.compile(r"adapter_.*\.safetensors")
_ORIGINAL = re.compile(r"consolidated.*\.safetensors")
_OTHER_TOWER = re.compile(
    r"vision|visual|audio|speech|image|encoder|tower|projector|resampler|perceiver"
)
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
_SPECULATIVE = re.compile(r"(?:^|\.)mtp(?:_\w+)?\.")


@dataclass(frozen=True)
class Skipped:
    """What lies in the folder and is not loaded."""

    name: str
    bytes: int
    why: str


@dataclass(frozen=True)
class Weights:
    """Bytes on one GPU: `shared` is divided between the GPUs, `repeated` is on each."""

    shared: int
    repeated: int
    skipped: tuple[Skipped, ...] = ()

    def on_one(self, tensor_parallel: int) -> int:
        return -(-self.shared // tensor_parallel) + self.repeated


@dataclass(frozen=True)
class StoredWeights:
    """The headers of the files that make up the model, and the files that do not."""

    headers: Mapping[str, Header]
    skipped: tuple[Skipped, ...]

    def tensors(self) -> Iterable[TensorInfo]:
        """Each name once, though two files hold it."""
        seen: set[str] = set()
        for header in self.headers.values():
            for tensor in header.tensors:
                if tensor.name not in seen:
                    seen.add(tensor.name)
                    yield tensor


def read_stored(folder: Path) -> StoredWeights:
    """Read headers only; raise `InputError` for files that are missing, damaged or only an adapter.

    As the library and servers choose them: the files of the index; else `model.safetensors`; else
    numbered shards; else every file that is no adapter and no copy in the original layout.
    """
    paths = {path.name: path for path in sorted(folder.glob("*.safetensors"))}
    if not paths:
        fix = "name the folder of a checkpoint with safetensors files"
        raise InputError(Problem("no weights", str(folder), "*.safetensors", "none", fix))
    index = folder / "model.safetensors.index.json"
    loaded, why = _loaded(set(paths), index)
    headers: dict[str, Header] = {}
    problems: list[Problem] = []
    for name in sorted(loaded & set(paths)):
        try:
            headers[name] = read_header(paths[name])
        except InputError as error:
            problems += error.problems
    if index.is_file():
        problems += index_problems(read_index(index), loaded & set(paths), headers)
    else:
        problems += numbering_problems(loaded)
    raise_if_any(problems)
    skipped = tuple(
        Skipped(name, path.stat().st_size, _why(name, why))
        for name, path in paths.items()
        if name not in loaded
    )
    return StoredWeights(headers, skipped)


def _loaded(names: set[str], index: Path) -> tuple[set[str], str]:
    """The files that count, and why others do not."""
    if index.is_file():
        return set(read_index(index).files.values()), "the index does not name it"
    if "model.safetensors" in names:
        return {"model.safetensors"}, "`model.safetensors` is the whole model"
    own = {name for name in names if not _ADAPTER.fullmatch(name)}
    if not own:
        raise InputError(
            Problem(
                "the folder holds an adapter, not a model",
                ", ".join(sorted(names)),
                "the weights of a model",
                "weights that are added to those of a base model",
                "size the base model; an adapter adds the bytes of its file",
            )
        )
    shards = {name for name in own if _SHARD.fullmatch(name) and not _ORIGINAL.fullmatch(name)}
    series = {_stem(name) for name in shards}
    if len(series) == 1:
        return shards, "the numbered shards are the whole model"
    copies = {name for name in own if _ORIGINAL.fullmatch(name)}
    return (own - copies or own), "a copy of the weights in their original layout"


def _stem(name: str) -> str:
    match = _SHARD.fullmatch(name)
    return match[1] if match else name


def _why(name: str, otherwise: str) -> str:
    if _ADAPTER.fullmatch(name):
        return "an adapter"
    if _ORIGINAL.fullmatch(name):
        return "a copy of the weights in their original layout"
    return otherwise


def loaded_weights(
    stored: StoredWeights, dtype: str, layers: int, *, speculative: bool = False
) -> Weights:
    """Weights as a server loads them in `dtype`, a key of `DTYPE_BYTES`.

    `layers` are the model's own. Tensors of layers behind them, and of multi-token prediction, are
    loaded only to draft tokens. Quantized tensors keep the size that they are stored in. Matrices
    are divided between GPUs, vectors (norms, biases) are repeated.
    """
    shared = repeated = 0
    behind: dict[str, int] = {}
    for tensor in stored.tensors():
        size = _bytes(tensor, dtype)
        part = speculative_part(tensor.name, layers)
        if part and not speculative:
            behind[part] = behind.get(part, 0) + size
        elif len(tensor.shape) > 1:
            shared += size
        else:
            repeated += size
    why = f"behind the model's {layers} layers; loaded only to draft tokens"
    skipped = [Skipped(part, size, why) for part, size in behind.items()]
    return Weights(shared, repeated, (*stored.skipped, *skipped))


def speculative_part(name: str, layers: int) -> str:
    """Name of the part behind the model's own layers that a tensor belongs to; empty for none."""
    if match := _SPECULATIVE.search(name):
        return name[: match.end()].removesuffix(".")
    number = layer_number(name)
    if number is None or number < layers:
        return ""
    return f"layer {number}"


def layer_number(name: str) -> int | None:
    """The decoder layer that a tensor belongs to, counted from 0."""
    match = _LAYER.search(name)
    if match is None or _OTHER_TOWER.search(name[: match.start()]):
        return None
    return int(match[1])


def _bytes(tensor: TensorInfo, dtype: str) -> int:
    if tensor.dtype in _CONVERTED:
        return math.prod(tensor.shape) * DTYPE_BYTES[dtype]
    return tensor.end - tensor.begin

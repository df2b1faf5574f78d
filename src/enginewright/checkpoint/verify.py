"""Whether the weights of a checkpoint are those that its `config.json` implies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from enginewright.checkpoint.config import Config
from enginewright.checkpoint.families import BUFFERS, TensorLayout, expected_tensors
from enginewright.checkpoint.safetensors_header import Header, TensorInfo, quote, read_header
from enginewright.checkpoint.shard_index import index_problems, numbering_problems, read_index
from enginewright.errors import InputError, Problem, raise_if_any

STORED_DTYPES: Mapping[str, str] = {
    "bfloat16": "BF16",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}
"""The name in safetensors files of a dtype of `config.json`."""

INDEX_SUFFIX = ".index.json"


@dataclass(frozen=True)
class StoredTensor:
    file: str
    """Name of the file, without folders."""
    info: TensorInfo


@dataclass(frozen=True)
class VerifiedCheckpoint:
    tensors: tuple[StoredTensor, ...]
    """Sorted by name."""
    dtype: str | None
    """Of most floating-point elements, as `config.json` spells it; None for other dtypes."""
    parameters: int
    """Elements of all tensors but buffers."""
    warnings: tuple[str, ...]


def verify_weights(
    config: Config, config_path: Path, weights: Sequence[Path]
) -> VerifiedCheckpoint:
    """Check the headers of `weights` (safetensors files and at most one index) against `config`.

    Reads headers only. Raises `InputError` with all problems of all files.
    """
    problems: list[Problem] = []
    files = _by_name([path for path in weights if not path.name.endswith(INDEX_SUFFIX)], problems)
    if not files:
        problems.append(
            Problem("the checkpoint has no weights", str(config_path), "*.safetensors", "no file")
        )
    headers = _read_headers(files, problems)
    _check_shards(weights, set(files), headers, problems)
    stored = _collect(headers, problems)
    layout = expected_tensors(config)
    warnings: list[str] = []
    if layout is None:
        reason = "it is quantized" if config.quantized else "the architecture is not a known one"
        warnings.append(
            f"shapes and names of the tensors were not checked against {config_path.name}: "
            f"{reason} (`{config.architecture}`)"
        )
    else:
        # A file that is not there or not readable would report each of its tensors as missing.
        if not problems:
            problems.extend(_missing(layout, stored, config_path))
        for tensor in stored.values():
            problems.extend(_tensor_problems(tensor, layout, config, config_path))
    raise_if_any(problems)
    tensors = tuple(stored[name] for name in sorted(stored))
    parameters = [tensor.info for tensor in tensors if not BUFFERS.search(tensor.info.name)]
    dtype = _main_dtype(parameters)
    if config.dtype is None and layout is not None:
        warnings.extend(_mixed_dtypes(parameters))
    return VerifiedCheckpoint(
        tensors, dtype, sum(prod(tensor.shape) for tensor in parameters), tuple(warnings)
    )


def _by_name(paths: Sequence[Path], problems: list[Problem]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in paths:
        if not path.name.endswith(".safetensors"):
            problems.append(
                Problem(
                    "not a file of weights",
                    str(path),
                    f"a name that ends in `.safetensors` or `{INDEX_SUFFIX}`",
                    f"`{path.name}`",
                    "convert the weights with the safetensors library",
                )
            )
        elif path.name in files:
            problems.append(Problem("two weights files have the same name", str(path)))
        else:
            files[path.name] = path
    return files


def _read_headers(files: Mapping[str, Path], problems: list[Problem]) -> dict[str, Header]:
    headers = {}
    for name, path in files.items():
        try:
            headers[name] = read_header(path)
        except InputError as error:
            problems.extend(error.problems)
    return headers


def _check_shards(
    weights: Sequence[Path],
    names: set[str],
    headers: Mapping[str, Header],
    problems: list[Problem],
) -> None:
    indexes = [path for path in weights if path.name.endswith(INDEX_SUFFIX)]
    if not indexes:
        problems.extend(numbering_problems(names))
    for extra in indexes[1:]:
        problems.append(Problem("the weights have more than one index", str(extra), "one index"))
    for path in indexes[:1]:
        try:
            index = read_index(path)
        except InputError as error:
            problems.extend(error.problems)
        else:
            problems.extend(index_problems(index, names, headers))


def _collect(headers: Mapping[str, Header], problems: list[Problem]) -> dict[str, StoredTensor]:
    stored: dict[str, StoredTensor] = {}
    for file, header in headers.items():
        for info in header.tensors:
            if info.name in stored:
                problems.append(
                    Problem(
                        "a tensor is in two files",
                        f"{file}, {quote(info.name)}",
                        "one file",
                        f"`{stored[info.name].file}` and `{file}`",
                        "drop the file that does not belong to the checkpoint",
                    )
                )
            else:
                stored[info.name] = StoredTensor(file, info)
    return stored


def _missing(
    layout: TensorLayout, stored: Mapping[str, StoredTensor], config_path: Path
) -> list[Problem]:
    return [
        Problem(
            "the weights lack a tensor",
            f"{config_path}, {quote(name)}",
            f"shape {list(shape)}",
            "no file has it",
            "check that the weights belong to this config and that all files are listed",
        )
        for name, shape in layout.required.items()
        if name not in stored
    ]


def _tensor_problems(
    tensor: StoredTensor, layout: TensorLayout, config: Config, config_path: Path
) -> list[Problem]:
    info = tensor.info
    if BUFFERS.search(info.name):
        return []
    here = f"{tensor.file}, {quote(info.name)}"
    shape = layout.shape(info.name)
    if shape is None:
        return [
            Problem(
                "the weights have a tensor that the config does not imply",
                here,
                f"a tensor of `{config.architecture}` as {config_path.name} describes it",
                f"{info.dtype} {list(info.shape)}",
                "check that the weights belong to this config",
            )
        ]
    problems = []
    if shape != info.shape:
        problems.append(
            Problem(
                f"a tensor has another shape than {config_path.name} implies",
                f"{here}, `shape`",
                str(list(shape)),
                str(list(info.shape)),
                "check that the weights belong to this config",
            )
        )
    expected = STORED_DTYPES.get(config.dtype or "")
    if (expected or info.dtype) != info.dtype or info.dtype not in STORED_DTYPES.values():
        problems.append(
            Problem(
                f"a tensor has another dtype than {config_path.name} implies",
                f"{here}, `dtype`",
                expected or ", ".join(STORED_DTYPES.values()),
                info.dtype,
                f"correct `dtype` in {config_path.name}, or save the weights in that dtype",
            )
        )
    return problems


def _elements_by_dtype(tensors: Sequence[TensorInfo]) -> Counter[str]:
    elements: Counter[str] = Counter()
    for tensor in tensors:
        elements[tensor.dtype] += prod(tensor.shape)
    return elements


def _main_dtype(tensors: Sequence[TensorInfo]) -> str | None:
    elements = _elements_by_dtype(tensors)
    stored = {stored: name for name, stored in STORED_DTYPES.items()}
    known = sorted(dtype for dtype in elements if dtype in stored)
    return stored[max(known, key=lambda dtype: elements[dtype])] if known else None


def _mixed_dtypes(tensors: Sequence[TensorInfo]) -> list[str]:
    dtypes = sorted(_elements_by_dtype(tensors))
    return [f"the weights mix dtypes: {', '.join(dtypes)}"] if len(dtypes) > 1 else []

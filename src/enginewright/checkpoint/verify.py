"""Whether the weights of a checkpoint are those that its `config.json` implies.

What is missing and what is too much, as transformers 5.24 sees it: names may have or lack the
prefix of the class with a head, and an output head that is stored counts, whatever the config says
of tied embeddings (`tie_weights` in its `modeling_utils.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from enginewright.checkpoint.config import Config, DecoderConfig
from enginewright.checkpoint.safetensors_header import Header, TensorInfo, quote, read_header
from enginewright.checkpoint.shard_index import index_problems, numbering_problems, read_index
from enginewright.checkpoint.tensor_layout import BUFFERS, TensorLayout, expected_tensors
from enginewright.checkpoint.tensor_names import foreign_prefix, name_by_class
from enginewright.dtype import BY_NAME
from enginewright.errors import InputError, Problem, raise_if_any

STORED_DTYPES: Mapping[str, str] = {
    dtype: BY_NAME[dtype].safetensors or ""
    for dtype in ("bfloat16", "float16", "float32", "float64")
}
"""The name in safetensors files of a dtype of `config.json`."""

INDEX_SUFFIX = ".index.json"


@dataclass(frozen=True)
class StoredTensor:
    name: str
    """As the class calls it; the file may have it with or without the class's prefix."""
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
    layout = expected_tensors(config)
    paths = [path for path in weights if not path.name.endswith(INDEX_SUFFIX)]
    files = _by_name(paths, config, problems)
    if not files and not problems:
        problems.append(
            Problem(
                "the checkpoint has no weights",
                str(config_path),
                "*.safetensors",
                "no file",
                f"list its files in `weights`; from another format, {_conversion(config)}",
            )
        )
    headers = _read_headers(files, problems)
    warnings = list(_check_shards(weights, set(files), headers, layout, problems))
    stored = _collect(headers, config, layout, problems)
    if layout is None:
        reason = "it is quantized" if config.quantized else "the architecture is not a known one"
        warnings.append(
            f"shapes and names of the tensors were not checked against {config_path.name}: "
            f"{reason} (`{config.architecture}`)"
        )
    else:
        # A file that is not there or not readable would report each of its tensors as missing.
        if not problems:
            problems.extend(_name_problems(layout, stored, config, config_path))
        for tensor in stored.values():
            problems.extend(_tensor_problems(tensor, layout, config_path))
    raise_if_any(problems)
    tensors = tuple(stored[name] for name in sorted(stored))
    parameters = [tensor for tensor in tensors if not BUFFERS.search(tensor.name)]
    if layout is not None:
        warnings.extend(_dtype_warnings(config, parameters))
    return VerifiedCheckpoint(
        tensors,
        _main_dtype(parameters),
        sum(prod(tensor.info.shape) for tensor in parameters),
        tuple(warnings),
    )


def _conversion(config: Config) -> str:
    """How weights of PyTorch's own format become safetensors files."""
    return (
        f'convert them where transformers is installed: `python -c "from transformers import '
        f"{config.architecture} as M; M.from_pretrained('FOLDER', dtype='auto')"
        ".save_pretrained('NEW_FOLDER')\"`"
    )


def _by_name(paths: Sequence[Path], config: Config, problems: list[Problem]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in paths:
        if not path.name.endswith(".safetensors"):
            problems.append(
                Problem(
                    "not a file of weights",
                    str(path),
                    f"a name that ends in `.safetensors` or `{INDEX_SUFFIX}`",
                    f"`{path.name}`",
                    _conversion(config),
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
    layout: TensorLayout | None,
    problems: list[Problem],
) -> Iterator[str]:
    """Note what index and files disagree about; what does no harm is a warning."""
    indexes = [path for path in weights if path.name.endswith(INDEX_SUFFIX)]
    if not indexes:
        problems.extend(numbering_problems(names))
    for extra in indexes[1:]:
        problems.append(Problem("the weights have more than one index", str(extra), "one index"))
    optional = set(layout.optional) if layout is not None else set()
    for path in indexes[:1]:
        try:
            index = read_index(path)
        except InputError as error:
            problems.extend(error.problems)
            continue
        problems.extend(index_problems(index, names, headers, optional))
        held = {tensor.name for header in headers.values() for tensor in header.tensors}
        yield from (
            f"{path.name} names {quote(name)}, which no file has and the config does not need"
            for name in sorted((optional & set(index.files)) - held)
        )


def _collect(
    headers: Mapping[str, Header],
    config: Config,
    layout: TensorLayout | None,
    problems: list[Problem],
) -> dict[str, StoredTensor]:
    """All tensors by the names that the class has for them."""
    stored: dict[str, StoredTensor] = {}
    for file, header in headers.items():
        for info in header.tensors:
            name = name_by_class(info.name, config, layout)
            if name in stored:
                one = stored[name]
                same = one.info.name == info.name
                names = "" if same else f" ({quote(one.info.name)} and {quote(info.name)})"
                problems.append(
                    Problem(
                        "a tensor is in two files" if same else "a tensor is there by two names",
                        f"{file}, {quote(name)}",
                        "one file" if same else "one name",
                        f"`{one.file}` and `{file}`{names}",
                        "drop the one that does not belong to the checkpoint",
                    )
                )
            else:
                stored[name] = StoredTensor(name, file, info)
    return stored


def _name_problems(
    layout: TensorLayout, stored: Mapping[str, StoredTensor], config: Config, config_path: Path
) -> list[Problem]:
    """Tensors that are missing, and those that the config does not imply."""
    head = _head_name(config)
    lacking = [name for name in layout.required if name not in stored]
    if isinstance(config, DecoderConfig) and head in layout.optional and head in stored:
        # Tied the other way round: the head is there, and is the embedding as well.
        lacking = [name for name in lacking if name != f"{config.names.embedding}.weight"]
    extra = [name for name in stored if layout.shape(name) is None and not BUFFERS.search(name)]
    prefix = foreign_prefix(lacking, extra)
    if prefix is not None:
        return [
            Problem(
                "the names of the tensors have another prefix than those of the architecture",
                f"{config_path}, `architectures`",
                f"names as `{config.architecture}` has them, such as {quote(lacking[0])}",
                f"{len(extra)} names with `{prefix}` before them, such as {quote(extra[0])}",
                f"rename the tensors without `{prefix}`, or name the class that they belong to",
            )
        ]
    problems = [
        Problem(
            "the weights lack a tensor",
            f"{config_path}, {quote(name)}",
            f"shape {list(layout.required[name])}",
            "no file has it",
            "set `tie_word_embeddings` to true if the head is the embedding, else add its file"
            if name == head
            else "check that the weights belong to this config and that all files are listed",
        )
        for name in lacking
    ]
    problems.extend(
        Problem(
            "the weights have a tensor that the config does not imply",
            f"{stored[name].file}, {quote(stored[name].info.name)}",
            f"a tensor of `{config.architecture}` as {config_path.name} describes it",
            f"{stored[name].info.dtype} {list(stored[name].info.shape)}",
            "check that the weights belong to this config",
        )
        for name in extra
    )
    return problems


def _head_name(config: Config) -> str:
    if isinstance(config, DecoderConfig) and config.has_head:
        return f"{config.names.head}.weight"
    return ""


def _tensor_problems(
    tensor: StoredTensor, layout: TensorLayout, config_path: Path
) -> list[Problem]:
    info = tensor.info
    here, shape = f"{tensor.file}, {quote(info.name)}", layout.shape(tensor.name)
    if BUFFERS.search(tensor.name) or shape is None:
        return []
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
    if info.dtype not in STORED_DTYPES.values():
        problems.append(
            Problem(
                "a tensor has a dtype that no exporter reads",
                f"{here}, `dtype`",
                ", ".join(STORED_DTYPES.values()),
                info.dtype,
                "save the weights in one of these, or take the checkpoint before quantization",
            )
        )
    return problems


def _elements_by_dtype(tensors: Sequence[StoredTensor]) -> Counter[str]:
    elements: Counter[str] = Counter()
    for tensor in tensors:
        elements[tensor.info.dtype] += prod(tensor.info.shape)
    return elements


def _main_dtype(tensors: Sequence[StoredTensor]) -> str | None:
    elements = _elements_by_dtype(tensors)
    stored = {stored: name for name, stored in STORED_DTYPES.items()}
    known = sorted(dtype for dtype in elements if dtype in stored)
    return stored[max(known, key=lambda dtype: elements[dtype])] if known else None


def _dtype_warnings(config: Config, tensors: Sequence[StoredTensor]) -> list[str]:
    """The config's dtype is a wish of whoever saved it; the files say what they hold."""
    held = sorted(_elements_by_dtype(tensors))
    wish = STORED_DTYPES.get(config.dtype or "")
    if len(held) > 1:
        return [f"the weights mix dtypes: {', '.join(held)}"]
    if wish is not None and held and held != [wish]:
        return [f"`dtype` of config.json says {config.dtype}, the weights are {held[0]}"]
    return []

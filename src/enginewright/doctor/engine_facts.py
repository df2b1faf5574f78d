"""What the doctor needs from `engine.json`, read without trusting it.

Every field is optional here: the doctor says what it can about a damaged package too. Writing and
full checking belong to `enginewright.engines.manifest`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.compatibility.version import ComputeCapability, Version, try_version
from enginewright.errors import InputError, Problem

MAX_MANIFEST = 64 << 20
_Note = Callable[[str, str, object], None]
"""Takes the field, what was expected, and what is there."""
_BYTES = {
    "float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "float16": 2,
    "bfloat16": 2, "int16": 2, "int8": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1,
}  # fmt: skip


@dataclass(frozen=True)
class PackagedFile:
    name: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Component:
    """A plugin or a set of kernels that the plan needs."""

    kind: str
    """`plugin` or `kernel`."""
    name: str
    path: str
    """File in the package; empty where the component is inside the plan."""
    embedded: bool


@dataclass(frozen=True)
class Memory:
    """Bytes that a profile needs at least: the plan, and every input and output at its maximum."""

    profile: int
    plan: int
    tensors: int
    complete: bool
    """Whether the size of every tensor is known."""

    @property
    def total(self) -> int:
        return self.plan + self.tensors


@dataclass(frozen=True)
class EngineFacts:
    product: str
    version: Version | None
    cuda: str
    minimum_driver: Version | None
    compute_capabilities: tuple[ComputeCapability, ...]
    device: str
    """Name of the GPU that the plan is bound to; empty where it is bound to none."""
    files: tuple[PackagedFile, ...]
    components: tuple[Component, ...]
    memory: tuple[Memory, ...]
    problems: tuple[Problem, ...]
    """Fields that could not be read."""


def read_engine(folder: Path) -> EngineFacts:
    """Read `engine.json` of the folder; raise `InputError` when there is none, or no object."""
    path = folder / "engine.json"
    try:
        size = path.stat().st_size
    except OSError as error:
        fix = "name the folder of a packaged engine, such as dist/engines/NAME"
        raise InputError(
            Problem("no engine here", str(path), "a file", error.strerror or "", fix)
        ) from error
    if size > MAX_MANIFEST:
        raise InputError(
            Problem("too large for an engine.json", str(path), f"{MAX_MANIFEST} bytes", f"{size}")
        )
    return engine_facts(canonical_json.read_object(path), str(path))


def engine_facts(document: Mapping[str, Any], where: str) -> EngineFacts:
    """The facts in the document of an `engine.json`; what cannot be read becomes a problem."""
    problems: list[Problem] = []

    def note(field: str, expected: str, actual: object) -> None:
        problems.append(
            Problem(f"engine.json: `{field}` cannot be read", where, expected, repr(actual)[:100])
        )

    product = _mapping(document.get("product"))
    name = _text(product.get("name", document.get("product")))
    version = _version(product.get("version", document.get("version")))
    if not name:
        note("product.name", "a product's name", document.get("product"))
    if version is None or len(version.fields) != 4:
        note("product.version", "four numbers", product.get("version"))
    driver = _version(document.get("minimum_driver"))
    if driver is None:
        note("minimum_driver", "a driver version", document.get("minimum_driver"))
    return EngineFacts(
        product=name,
        version=version,
        cuda=_text(document.get("cuda")),
        minimum_driver=driver,
        compute_capabilities=_capabilities(document, note),
        device=_text(_mapping(document.get("device")).get("name")),
        files=_files(document, note),
        components=(*_components("plugin", document), *_components("kernel", document)),
        memory=_memory(document),
        problems=tuple(problems),
    )


def _capabilities(document: Mapping[str, Any], note: _Note) -> tuple[ComputeCapability, ...]:
    capabilities = []
    for item in _list(document.get("compute_capabilities")):
        try:
            capabilities.append(ComputeCapability.parse(_text(item)))
        except InputError:
            note("compute_capabilities", "such as 8.9", item)
    return tuple(capabilities)


def _files(document: Mapping[str, Any], note: _Note) -> tuple[PackagedFile, ...]:
    files = []
    for name, digest in _mapping(document.get("files")).items():
        values = _mapping(digest)
        sha256, size = _text(values.get("sha256")), values.get("size")
        if len(sha256) != 64 or type(size) is not int or size < 0:
            note(f"files.{name[:80]}", "sha256 and size", digest)
        else:
            files.append(PackagedFile(name, sha256, size))
    if not files:
        note("files", "the files of the package with their digests", document.get("files"))
    return tuple(files)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value[:300] if isinstance(value, str) else ""


def _version(value: object) -> Version | None:
    return try_version(value) if isinstance(value, str) else None


def _components(kind: str, document: Mapping[str, Any]) -> list[Component]:
    components = []
    for entry in _list(document.get(f"{kind}s")):
        values = _mapping(entry)
        name = _text(values.get("name")) or _text(values.get("path"))
        components.append(
            Component(kind, name, _text(values.get("path")), values.get("embedded") is True)
        )
    return components


def _memory(document: Mapping[str, Any]) -> tuple[Memory, ...]:
    plan = _mapping(document.get("plan")).get("size")
    if type(plan) is not int or plan < 0:
        return ()
    tensors = [_mapping(tensor) for tensor in _list(document.get("tensors"))]
    profiles = _list(document.get("profiles")) or [{}]
    memory = []
    for index, profile in enumerate(profiles[:64]):
        axes = _mapping(_mapping(profile).get("axes"))
        sizes = [_bytes(tensor, axes) for tensor in tensors]
        known = [size for size in sizes if size is not None]
        memory.append(Memory(index, plan, sum(known), len(known) == len(sizes)))
    return tuple(memory)


def _bytes(tensor: Mapping[str, Any], axes: Mapping[str, Any]) -> int | None:
    """Bytes of a tensor with every named axis at the profile's maximum."""
    size = _BYTES.get(_text(tensor.get("dtype")))
    shape = tensor.get("shape")
    if size is None or not isinstance(shape, list) or len(shape) > 16:
        return None
    for dim in shape:
        if isinstance(dim, str):
            bounds = axes.get(dim)
            dim = bounds[2] if isinstance(bounds, list) and len(bounds) == 3 else None
        if type(dim) is not int or not 0 <= dim < 1 << 40:
            return None
        size *= dim
    return size

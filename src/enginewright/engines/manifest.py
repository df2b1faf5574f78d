"""`engine.json`: what an engine package is, for the tools that load, check or serve it.

Its head is the same for every product. What only one product says stands in the table `own`, which
that product decodes (`Product.own`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from enginewright import canonical_json
from enginewright.document import attempt
from enginewright.engines.build_result import ProductVersion, Tier
from enginewright.engines.device_needs import DeviceNeeds
from enginewright.engines.limits import Limits
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.hashing import FileDigest
from enginewright.schema import INLINE, NOT_EMPTY, UNIQUE, Name, Size

NAME = "engine.json"
FORMAT: Literal[2] = 2
MAX_BYTES = 64 << 20
"""More is no `engine.json`."""


@dataclass(frozen=True)
class BuildInput:
    """One input of the build."""

    role: Name
    """Such as `weights`, `config`, `dataset`, `toolchain`."""
    address: str
    """The target that owns it."""
    path: Name
    """Relative to the repository."""
    digest: FileDigest = field(metadata=INLINE)


@dataclass(frozen=True)
class Source:
    """What the engine was built from."""

    kind: Name
    """Such as `onnx` or `checkpoint`."""
    address: str
    """The target that says how it was made."""


@dataclass(frozen=True)
class Generation:
    """What ends and begins a text, for those who serve."""

    stop: tuple[Size, ...] = ()
    """Ids of the tokens that end it; any of them does."""
    begin: tuple[Size, ...] = ()
    """Ids of the tokens that it begins with."""


@dataclass(frozen=True)
class Manifest:
    name: Name
    task: Name
    product: ProductVersion
    source: Source
    built: Annotated[tuple[str, ...], NOT_EMPTY, UNIQUE]
    """Those of `files` that the product built."""
    files: Mapping[str, FileDigest]
    """Every file of the package by its path in it, but this one, the README and those about the
    package (`enginewright.provenance`)."""
    tensors: tuple[EngineTensor, ...]
    inputs: tuple[BuildInput, ...]
    reproducibility: Tier
    own: Mapping[str, Any]
    """What only this product says."""
    limits: Limits = field(default_factory=Limits)
    """What may be asked when it is served."""
    size_estimate: Mapping[str, Any] | None = None
    plugins: tuple[Mapping[str, Any], ...] = ()
    kernels: tuple[Mapping[str, Any], ...] = ()
    generation: Generation | None = None
    warnings: tuple[str, ...] = ()
    """Of the build."""
    format: Literal[2] = FORMAT

    def __post_init__(self) -> None:
        listed = "one of " + ", ".join(sorted(self.files))
        raise_if_any(
            [
                Problem("not a file of the package", f"built[{index}]", listed[:400], path[:200])
                for index, path in enumerate(self.built)
                if path not in self.files
            ]
        )


class OwnTable(Protocol):
    """The dataclass of a product's own table."""

    def problems(self, manifest: Manifest) -> Sequence[Problem]:
        """What cannot be true together; places are relative to the document."""

    def device_needs(self) -> DeviceNeeds | None:
        """None where the engine runs without a GPU."""


FindOwn = Callable[[str], type[OwnTable]]
"""From a product's name; raises `InputError` for one that is not known."""


@dataclass(frozen=True)
class ReadManifest:
    """What could be read, for those who have something to say of a damaged package too."""

    manifest: Manifest | None
    """None where there are problems."""
    own: OwnTable | None
    files: Mapping[str, FileDigest]
    """Those whose digest can be read, whatever else is wrong."""
    problems: tuple[Problem, ...]


def read_manifest(path: Path, find_own: FindOwn | None = None) -> Manifest:
    """Raises `InputError` with every field that is missing, wrong or contradicts another.

    Without `find_own` the product's own table is taken as it is.
    """
    read = read_with_problems(path, find_own)
    raise_if_any(read.problems)
    assert read.manifest is not None  # for the type checker: otherwise there are problems
    return read.manifest


def read_with_problems(path: Path, find_own: FindOwn | None = None) -> ReadManifest:
    """As `read_manifest`; raises `InputError` only where there is no document at all."""
    try:
        size = path.stat().st_size
    except OSError as error:
        fix = "name the folder of a packaged engine, such as dist/engines/NAME"
        problem = Problem("no engine here", str(path), "a file", error.strerror or "", fix)
        raise InputError(problem) from error
    if size > MAX_BYTES:
        expected = f"at most {MAX_BYTES} bytes"
        raise InputError(Problem("too large for an engine.json", str(path), expected, f"{size}"))
    return decode(canonical_json.read_object(path), str(path), find_own)


def decode(
    document: Mapping[str, Any], where: str, find_own: FindOwn | None = None
) -> ReadManifest:
    """The manifest that a document says."""
    files = _files(document)
    if document.get("format") != FORMAT:
        return ReadManifest(None, None, files, (_other_format(document, where),))
    manifest, found = attempt(Manifest, document, where)
    problems = [*found]
    own = None
    product = document.get("product")
    name = product.get("name") if isinstance(product, Mapping) else None
    if find_own is not None and isinstance(name, str) and isinstance(document.get("own"), Mapping):
        try:
            own, found = attempt(find_own(name), document["own"], f"{where}, own")
            problems += found
        except InputError as error:
            problems += [_placed(item, f"{where}, product.name") for item in error.problems]
    if own is not None and manifest is not None:
        problems += [_placed(item, f"{where}, {item.where}") for item in own.problems(manifest)]
    if problems:
        manifest = own = None
    return ReadManifest(manifest, own, files, tuple(problems))


def _placed(problem: Problem, where: str) -> Problem:
    return Problem(problem.what, where, problem.expected, problem.actual, problem.fix)


def _other_format(document: Mapping[str, Any], where: str) -> Problem:
    actual = document.get("format")
    is_older = type(actual) is int and actual < FORMAT
    fix = "package the engine again with this version of enginewright"
    if type(actual) is int and actual > FORMAT:
        fix = "read it with the version of enginewright that packaged the engine"
    what = "engine.json has another format than this version reads"
    if is_older:
        what = "engine.json has the format of an earlier version"
    return Problem(what, f"{where}, format", str(FORMAT), repr(actual)[:80], fix)


def _files(document: Mapping[str, Any]) -> dict[str, FileDigest]:
    listed = document.get("files")
    if not isinstance(listed, Mapping):
        return {}
    found = {str(name): attempt(FileDigest, item, "")[0] for name, item in listed.items()}
    return {name: digest for name, digest in found.items() if digest is not None}

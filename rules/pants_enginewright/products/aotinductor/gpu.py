"""`gpu`: the description of a device that is not here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator

import toml
from pants.engine.fs import Digest, DigestContents
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import HydratedSources, HydrateSourcesRequest, InvalidTargetException
from pants.util.strutil import bullet_list

from pants_enginewright import canonical_json
from pants_enginewright.build_files import addresses
from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.kind import Kind
from pants_enginewright.products.aotinductor.targets import GpuSourceField

TEXTS = ("name", "compute_capability")
NUMBERS = (
    "multi_processor_count",
    "regs_per_multiprocessor",
    "max_threads_per_multi_processor",
    "max_threads_per_block",
    "warp_size",
    "shared_memory_per_block",
    "shared_memory_per_block_optin",
    "l2_cache_size",
    "total_memory",
)


@dataclass(frozen=True)
class GpuKind(Kind):
    """A `gpu` target."""

    required_fields = (GpuSourceField,)

    source: GpuSourceField


@dataclass(frozen=True)
class GpuRequest(NamedTarget):
    """Asks for the description of a `gpu` target."""


@dataclass(frozen=True)
class Gpu:
    text: str
    """Canonical JSON: what the file says, without its comments and layout."""


def problems_of(document: Dict[str, Any]) -> Iterator[str]:
    """Everything that is missing from a description, has the wrong form, or is not known."""
    for name in TEXTS:
        if not isinstance(document.get(name), str):
            yield f"`{name}` is {document.get(name)!r}; expected a string"
    for name in NUMBERS:
        if type(document.get(name)) is not int or document[name] < 1:
            yield f"`{name}` is {document.get(name)!r}; expected a positive integer"
    for name in sorted({*document} - {*TEXTS, *NUMBERS}):
        yield f"`{name}` is not known; expected " + ", ".join((*TEXTS, *NUMBERS))


@rule(desc="Read the description of a GPU")
async def read_gpu(request: GpuRequest) -> Gpu:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(GpuKind))
    source = found.of(GpuKind).source
    hydrated = await Get(HydratedSources, HydrateSourcesRequest(source))
    (content,) = await Get(DigestContents, Digest, hydrated.snapshot.digest)
    try:
        document = toml.loads(content.content.decode())
        problems = list(problems_of(document))
    except (toml.TomlDecodeError, UnicodeDecodeError) as error:
        problems = [f"not TOML: {error}"]
    if problems:
        raise InvalidTargetException(f"{content.path} is no GPU:\n{bullet_list(problems)}")
    return Gpu(canonical_json.dumps(document))


def rules() -> Iterable[Any]:
    return (*collect_rules(), *GpuKind.rules(), *addresses.rules())

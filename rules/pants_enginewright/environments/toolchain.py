"""`toolchain`: pins of an inference product, read from TOML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, Mapping, Tuple

import toml
from pants.engine.addresses import Address, Addresses, UnparsedAddressInputs
from pants.engine.fs import Digest, DigestContents
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import (
    HydratedSources,
    HydrateSourcesRequest,
    InferDependenciesRequest,
    InferredDependencies,
    InvalidTargetException,
)
from pants.engine.unions import UnionRule
from pants.util.frozendict import FrozenDict
from pants.util.strutil import bullet_list

from pants_enginewright import canonical_json
from pants_enginewright.build_files import addresses
from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.kind import Kind
from pants_enginewright.environments.targets import ToolchainRequestField, ToolchainSourceField
from pants_enginewright.steps import files
from pants_enginewright.steps.files import File, Files, ListFiles

_TEXTS = ("product", "version", "cuda", "environment", "minimum_driver")
_TABLES = ("onnx", "libraries")
_LIMITS = ("opset_min", "opset_max", "ir_max")


@dataclass(frozen=True)
class ToolchainKind(Kind):
    """A `toolchain` target."""

    required_fields = (ToolchainSourceField, ToolchainRequestField)

    source: ToolchainSourceField


@dataclass(frozen=True)
class ToolchainRequest(NamedTarget):
    """Asks for the pins of a `toolchain` target."""


@dataclass(frozen=True)
class Toolchain:
    address: Address
    source: File
    product: str
    version: str
    cuda: str
    environment: str
    """Address of the `tool_environment` that holds the builder."""
    minimum_driver: str
    compute_capabilities: Tuple[str, ...]
    onnx: FrozenDict[str, int]
    """Limits of what the product reads."""
    libraries: FrozenDict[str, str]
    """sha256 by name."""

    @classmethod
    def of(cls, address: Address, source: File, document: Mapping[str, Any]) -> Toolchain:
        """What the TOML file says, without its comments and layout; it has no `problems_of`."""
        return cls(
            address,
            source,
            document["product"],
            document["version"],
            document["cuda"],
            document["environment"],
            document["minimum_driver"],
            tuple(document["compute_capabilities"]),
            FrozenDict(document["onnx"]),
            FrozenDict(document["libraries"]),
        )

    def builder(self) -> Dict[str, Any]:
        """What the builder verifies."""
        return {
            "product": self.product,
            "version": self.version,
            "libraries": dict(self.libraries),
        }

    def reader(self) -> str:
        """Canonical JSON: what the product reads of ONNX, for the graph check."""
        return canonical_json.dumps({"product": f"{self.product} {self.version}", **self.onnx})

    def described(self) -> Dict[str, Any]:
        """What `engine.json` says of it."""
        return {
            "product": self.product,
            "version": self.version,
            "cuda": self.cuda,
            "minimum_driver": self.minimum_driver,
            "compute_capabilities": list(self.compute_capabilities),
        }


def problems_of(document: Dict[str, Any]) -> Iterator[str]:
    """Everything that is missing from a toolchain file, or has the wrong form."""
    for name in _TEXTS:
        if not isinstance(document.get(name), str):
            yield f"`{name}` is {document.get(name)!r}; expected a string"
    capabilities = document.get("compute_capabilities")
    if not isinstance(capabilities, list) or not all(isinstance(c, str) for c in capabilities):
        yield f"`compute_capabilities` is {capabilities!r}; expected a list such as ['8.6']"
    for name in _TABLES:
        if not isinstance(document.get(name), dict):
            yield f"`[{name}]` is missing"
    if isinstance(document.get("onnx"), dict):
        for name in _LIMITS:
            if type(document["onnx"].get(name)) is not int:
                yield f"`[onnx] {name}` is {document['onnx'].get(name)!r}; expected an integer"


@rule(desc="Read a toolchain")
async def read_toolchain(request: ToolchainRequest) -> Toolchain:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(ToolchainKind))
    source = found.of(ToolchainKind).source
    hydrated = await Get(HydratedSources, HydrateSourcesRequest(source))
    files = await Get(Files, ListFiles(hydrated.snapshot.digest))
    (content,) = await Get(DigestContents, Digest, hydrated.snapshot.digest)
    try:
        document = toml.loads(content.content.decode())
        problems = list(problems_of(document))
    except (toml.TomlDecodeError, UnicodeDecodeError) as error:
        problems = [f"not TOML: {error}"]
    if problems:
        raise InvalidTargetException(f"{content.path} is no toolchain:\n{bullet_list(problems)}")
    return Toolchain.of(found.target.address, files.entries[0], document)


class InferToolchainDependencies(InferDependenciesRequest[ToolchainKind]):
    infer_from = ToolchainKind


@rule(desc="Infer the tool environment of a toolchain")
async def infer_toolchain_dependencies(request: InferToolchainDependencies) -> InferredDependencies:
    address = request.field_set.address
    toolchain = await Get(Toolchain, ToolchainRequest(address.spec, "dependency inference"))
    addresses = await Get(
        Addresses,
        UnparsedAddressInputs(
            [toolchain.environment],
            owning_address=None,
            description_of_origin=f"the `environment` of {address}",
        ),
    )
    return InferredDependencies(addresses)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *ToolchainKind.rules(),
        UnionRule(InferDependenciesRequest, InferToolchainDependencies),
        *addresses.rules(),
        *files.rules(),
    )

"""The bill of materials of a package: CycloneDX 1.6, with the model as one of its components.

The library writes the document. It has nothing for model cards, so these are added to what it
wrote. Source: the schema `bom-1.6.schema.json`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6

from enginewright.hashing import FileDigest
from enginewright.provenance.build import Build, Input
from enginewright.provenance.model_card import ModelCard
from enginewright.provenance.package_url import package_url
from enginewright.provenance.wheel import Licence, Wheel

NAME = "bom.cdx.json"
_SPACE = uuid.UUID("5f0b6c7e-6f1c-5b1e-9d0c-7d7c1f1f3f52")
"""Serial numbers are made in this name space, of the contents."""
_ROLES = {
    "config": ComponentType.DATA,
    "dataset": ComponentType.DATA,
    "weights": ComponentType.MACHINE_LEARNING_MODEL,
    "tokenizer": ComponentType.DATA,
    "toolchain": ComponentType.PLATFORM,
}
"""Component type by role of an input; all others are files."""
_ROOT = "package"


def write_bom(build: Build, card: ModelCard | None) -> dict[str, Any]:
    """The document; equal arguments give equal documents."""
    root = _root(build)
    components = [
        *(_shipped(path, digest) for path, digest in sorted(build.files.items())),
        *(_input(item) for item in _once(build.inputs)),
        *(_wheel(address, wheel) for address, wheel in build.wheels),
        *_programs(build),
    ]
    bom = Bom(components=components, serial_number=uuid.uuid5(_SPACE, _contents(build)))
    bom.metadata.component = root
    # The library wants a time; the document has none.
    bom.metadata.timestamp = datetime.fromtimestamp(0, UTC)
    bom.register_dependency(root, components)
    document: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    del document["metadata"]["timestamp"]
    if card is not None:
        _add_card(document, build, card)
    return document


def _contents(build: Build) -> str:
    """Names what the document says of a package: two with the same contents are one document."""
    files = sorted((path, digest.sha256) for path, digest in build.files.items())
    inputs = [(_reference(item), item.digest.sha256) for item in _once(build.inputs)]
    wheels = [(address, wheel.digest.sha256) for address, wheel in build.wheels]
    return json.dumps([build.target, files, sorted(inputs), wheels])


def _root(build: Build) -> Component:
    return Component(
        name=build.target,
        type=ComponentType(build.kind),
        bom_ref=_ROOT,
        properties=[Property(name="enginewright:type", value=build.targets[build.target].type)],
    )


def _shipped(path: str, digest: FileDigest) -> Component:
    return Component(
        name=path,
        type=ComponentType.FILE,
        bom_ref=f"file:{path}",
        hashes=_hashes(digest),
        properties=[_size(digest), Property(name="enginewright:role", value="package")],
    )


def _once(inputs: tuple[Input, ...]) -> tuple[Input, ...]:
    found = {_reference(item): item for item in inputs}
    return tuple(found.values())


def _reference(item: Input) -> str:
    return f"{item.role}:{item.address}/{item.path}"


def _input(item: Input) -> Component:
    return Component(
        name=item.path,
        group=item.address,
        type=_ROLES.get(item.role, ComponentType.FILE),
        bom_ref=_reference(item),
        hashes=_hashes(item.digest),
        properties=[_size(item.digest), Property(name="enginewright:role", value=item.role)],
    )


def _wheel(address: str, wheel: Wheel) -> Component:
    return Component(
        name=wheel.name,
        version=wheel.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"wheel:{wheel.file}",
        purl=package_url(wheel),
        hashes=_hashes(wheel.digest),
        licenses=_licences(wheel.licence),
        properties=[
            _size(wheel.digest),
            Property(name="enginewright:role", value="wheel"),
            Property(name="enginewright:environment", value=address),
            *_undeclared(wheel.licence),
        ],
    )


def _programs(build: Build) -> Iterator[Component]:
    """What ran beside the wheels: Python, and the host's compiler where a step used it."""
    for version in sorted({step.python for step in build.steps}):
        name, kind = "CPython", ComponentType.PLATFORM
        yield Component(name=name, version=version, type=kind, bom_ref=f"python:{version}")
    if build.host_compiler is not None:
        reference = f"gcc:{build.host_compiler}"
        kind = ComponentType.APPLICATION
        yield Component(name="gcc", version=build.host_compiler, type=kind, bom_ref=reference)


def _licences(licence: Licence) -> list[Any]:
    make = LicenseFactory()
    if licence.expression is not None:
        return [make.make_from_string(licence.expression)]
    # NB: several expressions would be no valid document; names that are no ids stay names.
    return [make.make_with_name(name) for name in licence.names]


def _undeclared(licence: Licence) -> Iterator[Property]:
    if licence.expression is None and not licence.names:
        yield Property(name="enginewright:licence", value="not declared in METADATA")


def _hashes(digest: FileDigest) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=digest.sha256)]


def _size(digest: FileDigest) -> Property:
    return Property(name="enginewright:size", value=str(digest.size))


def _add_card(document: dict[str, Any], build: Build, card: ModelCard) -> None:
    data = [_reference(item) for item in _once(build.inputs) if item.role == "dataset"]
    root: Mapping[str, Any] = document["metadata"]["component"]
    document["metadata"]["component"] = {**root, "modelCard": card.to_json(data)}

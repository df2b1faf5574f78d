"""The provenance of a package, from what the rules know of its build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from enginewright.document import encode
from enginewright.hashing import FileDigest
from enginewright.provenance.build import Build
from enginewright.provenance.package_url import package_url
from enginewright.provenance.slsa import (
    BUILD_TYPE,
    BUILDER,
    PREDICATE_TYPE,
    BuildDefinition,
    Builder,
    Dependency,
    Provenance,
    RunDetails,
)
from enginewright.provenance.statement import Digests, Statement

NAME = "provenance.json"


def state_provenance(build: Build, written: Mapping[str, FileDigest]) -> Statement:
    """A statement about all files of the package; `written` are those beside the build's own.

    Equal arguments give equal statements.
    """
    definition = BuildDefinition(
        build_type=BUILD_TYPE,
        external_parameters={
            "target": build.target,
            "targets": {address: encode(one) for address, one in build.targets.items()},
        },
        internal_parameters={"steps": [encode(step) for step in build.steps]},
        resolved_dependencies=(*_inputs(build), *_wheels(build)),
    )
    provenance = Provenance(definition, RunDetails(Builder(BUILDER)))
    return Statement.about({**build.files, **written}, PREDICATE_TYPE, provenance)


def _inputs(build: Build) -> Iterator[Dependency]:
    for item in build.inputs:
        annotations = {"role": item.role, "target": item.address, "size": item.digest.size}
        yield Dependency(item.path, Digests(item.digest.sha256), annotations=annotations)


def _wheels(build: Build) -> Iterator[Dependency]:
    for address, wheel in build.wheels:
        annotations = {"role": "wheel", "target": address, "size": wheel.digest.size}
        digest = Digests(wheel.digest.sha256)
        yield Dependency(wheel.file, digest, str(package_url(wheel)), annotations)

"""How a package was built: the provenance predicate of SLSA, version 1.

Source: SLSA 1.0, `provenance/v1`. Nothing in it depends on when or where a build ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enginewright.provenance.statement import Digests
from enginewright.schema import Name, named

PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:enginewright:package:1"
"""Says what the parameters mean; docs/provenance.md does so in words."""
BUILDER = "urn:enginewright:builder:unnamed"
"""Of a package that nobody has signed: who builds is no input of a build."""


@dataclass(frozen=True)
class Dependency:
    name: str
    digest: Digests
    uri: str | None = None
    """Package URL of a wheel."""
    annotations: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildDefinition:
    build_type: Name = field(metadata=named("buildType"))
    external_parameters: Mapping[str, Any] = field(metadata=named("externalParameters"))
    internal_parameters: Mapping[str, Any] = field(metadata=named("internalParameters"))
    resolved_dependencies: tuple[Dependency, ...] = field(metadata=named("resolvedDependencies"))


@dataclass(frozen=True)
class Builder:
    id: Name
    version: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Metadata:
    invocation_id: str | None = field(default=None, metadata=named("invocationId"))
    finished_on: str | None = field(default=None, metadata=named("finishedOn"))
    """RFC 3339, UTC."""


@dataclass(frozen=True)
class RunDetails:
    builder: Builder
    metadata: Metadata | None = None


@dataclass(frozen=True)
class Provenance:
    build_definition: BuildDefinition = field(metadata=named("buildDefinition"))
    run_details: RunDetails = field(metadata=named("runDetails"))

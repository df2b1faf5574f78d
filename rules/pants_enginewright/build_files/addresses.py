"""From an address that a user wrote to a target of the right kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional, Tuple, Type, TypeVar

from pants.engine.addresses import Address, Addresses, UnparsedAddressInputs
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import (
    InvalidTargetException,
    RegisteredTargetTypes,
    Target,
    WrappedTarget,
    WrappedTargetRequest,
)
from pants.engine.unions import UnionMembership, is_union

from pants_enginewright.build_files import build_file
from pants_enginewright.build_files.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.build_files.fields import CheckedField
from pants_enginewright.build_files.kind import Kind

T = TypeVar("T", bound="NamedTarget")
K = TypeVar("K", bound=Kind)


@dataclass(frozen=True)
class TargetOfKindRequest:
    """Asks for a target, in a BUILD file without mistakes."""

    spec: str
    kind: Type[Kind]
    """The kind that will do, or a union of several."""
    origin: str
    """Where the address comes from, such as "field `model` of //engines:x"."""
    relative_to: Optional[Address] = None
    fresh: bool = False
    """Whether it is to be made without what caches keep of it."""


@dataclass(frozen=True)
class NamedTarget:
    """Asks for what a target makes. Each kind of result has a request of its own, made of this."""

    spec: str
    """Address of the target, as the user writes it."""
    origin: str
    """Where the address comes from, for error messages."""
    relative_to: Optional[Address] = None
    fresh: bool = False
    """Whether it is to be made without what caches keep of it."""

    @classmethod
    def by_field(cls: Type[T], field: CheckedField, fresh: bool = False) -> T:
        """The target that a field names."""
        origin = f"field `{field.alias}` of {field.address}"
        return cls(field.value, origin, field.address, fresh)

    @classmethod
    def by_user(cls: Type[T], address: Address) -> T:
        """The target that a goal is run for."""
        return cls(address.spec, "the command line")

    def of_kind(self, kind: Type[Kind]) -> TargetOfKindRequest:
        return TargetOfKindRequest(self.spec, kind, self.origin, self.relative_to, self.fresh)


@dataclass(frozen=True)
class TargetOfKind:
    target: Target
    kind: Kind
    """Its fields: an instance of the kind that was asked for, or of a member of that union."""

    def of(self, kind: Type[K]) -> K:
        """The fields, as the kind that was asked for."""
        assert isinstance(self.kind, kind)
        return self.kind


def members_of(kind: Type[Kind], unions: UnionMembership) -> Tuple[Type[Kind], ...]:
    return tuple(unions.get(kind)) if is_union(kind) else (kind,)


@rule
async def resolve_target_of_kind(
    request: TargetOfKindRequest, registered: RegisteredTargetTypes, unions: UnionMembership
) -> TargetOfKind:
    (address,) = await Get(
        Addresses,
        UnparsedAddressInputs(
            [request.spec],
            owning_address=request.relative_to,
            description_of_origin=request.origin,
        ),
    )
    wrapped = await Get(WrappedTarget, WrappedTargetRequest(address, request.origin))
    target = wrapped.target
    members = members_of(request.kind, unions)
    found = next((member for member in members if member.is_applicable(target)), None)
    if found is None:
        types = [m.applicable_target_types(registered.types, unions) for m in members]
        aliases = sorted({kind.alias for group in types for kind in group})
        raise InvalidTargetException(
            f"{request.origin} names {address}, which is a `{target.alias}` target; "
            f"expected a {' or '.join(f'`{alias}`' for alias in aliases)} target"
        )
    await Get(CheckedBuildFile, CheckBuildFile(address.spec_path))
    made = found.create(target)
    return TargetOfKind(target, made.afresh() if request.fresh else made)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *build_file.rules(),
    )

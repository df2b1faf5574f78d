"""From an address that a user wrote to a target of the right kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional, Tuple, Type, TypeVar

from pants.engine.addresses import Address, Addresses, UnparsedAddressInputs
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import InvalidTargetException, Target, WrappedTarget, WrappedTargetRequest

from pants_enginewright.build_files.fields import CheckedField

T = TypeVar("T", bound="NamedTarget")


@dataclass(frozen=True)
class TargetOfKindRequest:
    spec: str
    kinds: Tuple[str, ...]
    """Aliases of the target types that will do."""
    origin: str
    """Where the address comes from, such as "field `model` of //engines:x"."""
    relative_to: Optional[Address] = None


@dataclass(frozen=True)
class NamedTarget:
    """Asks for what a target makes. Each kind of result has a request of its own, made of this."""

    spec: str
    """Address of the target, as the user writes it."""
    origin: str
    """Where the address comes from, for error messages."""
    relative_to: Optional[Address] = None

    @classmethod
    def by_field(cls: Type[T], field: CheckedField) -> T:
        """The target that a field names."""
        return cls(field.value, f"field `{field.alias}` of {field.address}", field.address)

    @classmethod
    def by_user(cls: Type[T], address: Address) -> T:
        """The target that a goal is run for."""
        return cls(address.spec, "the command line")

    def of_kind(self, *kinds: str) -> TargetOfKindRequest:
        return TargetOfKindRequest(self.spec, kinds, self.origin, self.relative_to)


@dataclass(frozen=True)
class TargetOfKind:
    target: Target


@rule
async def resolve_target_of_kind(request: TargetOfKindRequest) -> TargetOfKind:
    (address,) = await Get(
        Addresses,
        UnparsedAddressInputs(
            [request.spec],
            owning_address=request.relative_to,
            description_of_origin=request.origin,
        ),
    )
    wrapped = await Get(WrappedTarget, WrappedTargetRequest(address, request.origin))
    if wrapped.target.alias not in request.kinds:
        expected = " or ".join(f"`{kind}`" for kind in request.kinds)
        raise InvalidTargetException(
            f"{request.origin} names {address}, which is a `{wrapped.target.alias}` target; "
            f"expected a {expected} target"
        )
    return TargetOfKind(wrapped.target)


def rules() -> Iterable[Any]:
    return collect_rules()

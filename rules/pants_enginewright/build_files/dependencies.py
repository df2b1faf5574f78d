"""What the fields of a target name becomes its dependency, so that changes select it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, List, Type

from pants.core.goals.package import OutputPathField
from pants.engine.addresses import Addresses, UnparsedAddressInputs
from pants.engine.internals.graph import Owners, OwnersRequest
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import (
    FieldSet,
    InferDependenciesRequest,
    InferredDependencies,
    Target,
    WrappedTarget,
    WrappedTargetRequest,
)
from pants.engine.unions import UnionMembership, UnionRule

from pants_enginewright.build_files.base import EnginewrightDependenciesField
from pants_enginewright.build_files.fields import AddressField, AddressListField
from pants_enginewright.build_files.kind import Kind, Steps
from pants_enginewright.build_files.plugin_files import plugin_files
from pants_enginewright.steps.library import module_path
from pants_enginewright.subsystems import EnginewrightSubsystem

PROVENANCE = Steps.of("list_wheels", "write_provenance", environments=("provenance",))
"""What runs for whatever is packaged."""


@dataclass(frozen=True)
class EnginewrightDependenciesFieldSet(FieldSet):
    required_fields = (EnginewrightDependenciesField,)


class InferEnginewrightDependencies(InferDependenciesRequest[EnginewrightDependenciesFieldSet]):
    infer_from = EnginewrightDependenciesFieldSet


def steps_of(target: Target, kinds: Iterable[Type[Kind]]) -> Steps:
    """What runs for the target, by all of `kinds` that it is of."""
    found = [kind.create(target).steps for kind in kinds if kind.is_applicable(target)]
    return sum(found, Steps())


def specs_of(target: Target) -> List[str]:
    """Addresses that the target's fields name, as written."""
    specs: List[str] = []
    for field in target.field_values.values():
        if isinstance(field, AddressField) and isinstance(field.value, str):
            specs.append(field.value)
        elif isinstance(field, AddressListField) and isinstance(field.value, tuple):
            specs.extend(item for item in field.value if isinstance(item, str))
    return specs


@rule(desc="Infer dependencies of a model engine")
async def infer_enginewright_dependencies(
    request: InferEnginewrightDependencies,
    subsystem: EnginewrightSubsystem,
    unions: UnionMembership,
) -> InferredDependencies:
    address = request.field_set.address
    wrapped = await Get(WrappedTarget, WrappedTargetRequest(address, "dependency inference"))
    target = wrapped.target
    steps = steps_of(target, unions.get(Kind))
    if target.has_field(OutputPathField) and subsystem.provenance:
        steps += PROVENANCE
    environments = [
        subsystem.environments[k] for k in steps.environments if k in subsystem.environments
    ]
    root = subsystem.library_root
    paths = [module_path(root, name) for name in steps.modules] if root else []
    paths.extend(plugin_files(target, unions))
    named, tools, code = await MultiGet(
        Get(
            Addresses,
            UnparsedAddressInputs(
                specs_of(target),
                owning_address=address,
                description_of_origin=f"the fields of {address}",
            ),
        ),
        Get(
            Addresses,
            UnparsedAddressInputs(
                environments,
                owning_address=None,
                description_of_origin="`[enginewright].environments`",
            ),
        ),
        Get(Owners, OwnersRequest(tuple(paths))),
    )
    return InferredDependencies([*named, *tools, *code])


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        UnionRule(InferDependenciesRequest, InferEnginewrightDependencies),
    )

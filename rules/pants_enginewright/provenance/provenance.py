"""Bill of materials and provenance of a package, from the steps that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from pants.engine.addresses import Address, Addresses, UnparsedAddressInputs
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import Target, WrappedTarget, WrappedTargetRequest

from pants_enginewright import canonical_json
from pants_enginewright.build_files.fields import CheckedField, thaw
from pants_enginewright.models.model_source import SourceFile
from pants_enginewright.provenance import wheels
from pants_enginewright.provenance.wheels import ListedWheels, ListWheels
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files
from pants_enginewright.steps.step_outputs import RESULT
from pants_enginewright.subsystems import EnginewrightSubsystem

WHEELS = "wheels"
"""Role of wheels that a step reads as data, as a model's."""
MODEL, LIBRARY = "machine-learning-model", "library"
"""Component types of CycloneDX."""
MANIFEST = "engine.json"


@dataclass(frozen=True)
class WriteProvenance:
    """Asks for the documents about a package."""

    address: Address
    kind: str
    """`MODEL` or `LIBRARY`."""
    package: Files
    steps: Tuple[ActionResult, ...]
    """All that made it, each after those whose files it read."""
    known: Tuple[SourceFile, ...] = ()
    """What rules know that it was made of: what no step read, and what a step unpacked."""

    def with_provenance(self, written: Provenance) -> ComposeFiles:
        """The whole package."""
        return ComposeFiles((*self.package.entries, *written.files.entries))


@dataclass(frozen=True)
class Provenance:
    files: Files
    """Empty where the option says that there are none."""
    steps: Tuple[ActionResult, ...]
    """Without those that read a tool environment, which no package has for its own."""


def inputs_of(request: WriteProvenance) -> List[Dict[str, Any]]:
    """What rules know, and every file that no step made; wheels are told apart."""
    made: Set[str] = set()
    found: Dict[Tuple[str, ...], Dict[str, Any]] = {}
    rows = [row.described() for row in request.known]
    for step in request.steps:
        for item in step.origin.request.inputs:
            rows.extend(
                {"role": item.role, "address": step.address, "path": f.path, **f.described()}
                for f in item.files
                # NB: a step may put out what it read, as a config that was normal already.
                if f.sha256 not in made and item.role != WHEELS
            )
        made.update(file.sha256 for file in step.files.entries)
    for row in rows:
        found[(row["role"], row["address"], row["path"], row["sha256"])] = row
    return [found[name] for name in sorted(found)]


def wheels_of(steps: Iterable[ActionResult]) -> Tuple[ListWheels, ...]:
    """The wheels of each environment, and those that a step read as data."""
    found = {}
    for step in steps:
        environment = step.origin.environment
        if environment.address is not None:
            address = environment.address.spec
            found[address] = ListWheels(address, environment.wheels)
        for item in step.origin.request.inputs:
            if item.role == WHEELS:
                found[step.address] = ListWheels(step.address, Files(item.digest, item.files))
    return tuple(found[address] for address in sorted(found))


def describe_step(step: ActionResult) -> Dict[str, Any]:
    environment = step.origin.environment
    return {
        "action": step.action,
        "address": step.address,
        "key": step.key,
        "library": step.origin.library.digest.fingerprint,
        "environment": None if environment.address is None else environment.address.spec,
        "python": environment.python_version,
    }


def describe_target(target: Target) -> Dict[str, Any]:
    """Type and fields as the user wrote them, or their defaults; without those that have none."""
    values = {
        field.alias: thaw(field.value)
        for field in target.field_values.values()
        if isinstance(field, CheckedField) and field.value is not None
    }
    return {"type": target.alias, "fields": values}


def host_compiler_of(steps: Iterable[ActionResult]) -> Optional[str]:
    """Version of the host's C++ compiler, which only steps that start it are told."""
    for step in steps:
        said = canonical_json.loads(step.origin.request.parameters).get("host_compiler")
        if said is not None and said["version"]:
            return str(said["version"])
    return None


def plan_provenance(
    request: WriteProvenance,
    targets: Dict[str, Target],
    listed: Iterable[ListedWheels],
    manifest: Files,
) -> ActionRequest:
    steps = {(step.action, step.address, step.key): step for step in request.steps}
    return ActionRequest.create(
        "write_provenance",
        address=request.address,
        environment="provenance",
        inputs=[ActionInput.of("manifest", manifest)] if manifest.entries else [],
        parameters={
            "target": request.address.spec,
            "kind": request.kind,
            "targets": {name: describe_target(target) for name, target in targets.items()},
            "files": {file.path: file.described() for file in request.package.entries},
            "inputs": inputs_of(request),
            "steps": [describe_step(steps[name]) for name in sorted(steps)],
            "environments": [one.described() for one in listed],
            "host_compiler": host_compiler_of(request.steps),
        },
    )


@rule(desc="Write the provenance of a package")
async def write_provenance(
    request: WriteProvenance, subsystem: EnginewrightSubsystem
) -> Provenance:
    if not subsystem.provenance:
        return Provenance(Files(), ())
    specs = sorted({request.address.spec, *(step.address for step in request.steps)})
    addresses = await Get(
        Addresses,
        UnparsedAddressInputs(
            specs, owning_address=None, description_of_origin="the steps of a package"
        ),
    )
    targets = await MultiGet(
        Get(WrappedTarget, WrappedTargetRequest(address, "the steps of a package"))
        for address in addresses
    )
    listed = await MultiGet(Get(ListedWheels, ListWheels, one) for one in wheels_of(request.steps))
    manifest = await Get(Files, ComposeFiles, ComposeFiles.named(request.package.entries, MANIFEST))
    named = {wrapped.target.address.spec: wrapped.target for wrapped in targets}
    plan = plan_provenance(request, named, listed, manifest)
    step = await Get(ActionResult, ActionRequest, plan)
    entries = tuple(file for file in step.files.entries if file.path != RESULT)
    files = await Get(Files, ComposeFiles(entries))
    return Provenance(files, (step,))


def rules() -> Iterable[Any]:
    return (*collect_rules(), *wheels.rules(), *action.rules())

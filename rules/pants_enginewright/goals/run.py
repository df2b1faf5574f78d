"""`./pants run` for engines whose product runs on this host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from pants.core.goals.run import RunFieldSet, RunInSandboxBehavior, RunRequest
from pants.engine.fs import AddPrefix, Digest, MergeDigests
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import InvalidTargetException

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.compat import EnvironmentField
from pants_enginewright.engines import engine
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.engines.product import BuildEngine
from pants_enginewright.engines.targets import EngineOutputPathField
from pants_enginewright.steps import program
from pants_enginewright.steps.hermetic_process import PROGRAM_CACHES, VARIABLES, WHEELS
from pants_enginewright.steps.program import Program, ProgramRequest


@dataclass(frozen=True)
class EngineRunFieldSet(RunFieldSet):
    required_fields = (EngineOutputPathField,)
    # The runner is for people: what it prints depends on their prompt and their host.
    run_in_sandbox_behavior = RunInSandboxBehavior.NOT_SUPPORTED

    environment: EnvironmentField


@rule(desc="Run an engine")
async def run_engine(field_set: EngineRunFieldSet) -> RunRequest:
    named = NamedTarget.by_user(field_set.address)
    found = await Get(TargetOfKind, TargetOfKindRequest, named.of_kind(BuildEngine))
    tools = found.of(BuildEngine).runs_in
    if tools is None:
        raise InvalidTargetException(
            f"`{found.target.alias}` target {field_set.address} runs on a device alone: package "
            f"it, and follow the README.md in its package there"
        )
    engine, program = await MultiGet(
        Get(Engine, EngineRequest, EngineRequest.by_user(field_set.address)),
        Get(Program, ProgramRequest("enginewright.run.__main__", tools)),
    )
    package = await Get(Digest, AddPrefix(engine.package.digest, "engine"))
    return RunRequest(
        digest=await Get(Digest, MergeDigests([program.digest, package])),
        args=(*program.argv, "{chroot}/engine"),
        extra_env=dict(VARIABLES),
        immutable_input_digests={WHEELS: program.wheels},
        append_only_caches=PROGRAM_CACHES,
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *EngineRunFieldSet.rules(),
        *engine.rules(),
        *program.rules(),
    )

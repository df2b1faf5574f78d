"""`./pants run` for `onnxruntime_engine` targets: generates text, or embeds the lines of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from pants.core.goals.run import RunFieldSet, RunInSandboxBehavior, RunRequest
from pants.engine.fs import AddPrefix, Digest, MergeDigests
from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright.compat import EnvironmentField
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.engines.targets import ModelField, ProviderField
from pants_enginewright.products.onnxruntime.build import ENVIRONMENT
from pants_enginewright.steps.hermetic_process import PROGRAM_CACHES, VARIABLES, WHEELS
from pants_enginewright.steps.program import Program, ProgramRequest


@dataclass(frozen=True)
class OnnxruntimeEngineRunFieldSet(RunFieldSet):
    required_fields = (ModelField, ProviderField)
    # The runner is for people: what it prints depends on their prompt and their host.
    run_in_sandbox_behavior = RunInSandboxBehavior.NOT_SUPPORTED

    environment: EnvironmentField


@rule(desc="Run an engine")
async def run_onnxruntime_engine(field_set: OnnxruntimeEngineRunFieldSet) -> RunRequest:
    engine, program = await MultiGet(
        Get(Engine, EngineRequest, EngineRequest.by_user(field_set.address)),
        Get(Program, ProgramRequest("enginewright.run.__main__", ENVIRONMENT)),
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
    return (*collect_rules(), *OnnxruntimeEngineRunFieldSet.rules())

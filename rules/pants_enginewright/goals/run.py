"""`./pants run` for `onnxruntime_engine` targets: generates text, or embeds the lines of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from pants.core.goals.run import RunFieldSet, RunInSandboxBehavior, RunRequest
from pants.engine.fs import AddPrefix, CreateDigest, Digest, FileContent, MergeDigests
from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright import canonical_json
from pants_enginewright.compat import EnvironmentField
from pants_enginewright.targets.engines import ModelField, ProviderField
from pants_enginewright.util_rules import interpreter
from pants_enginewright.util_rules.action import Tools, ToolsRequest
from pants_enginewright.util_rules.engine import Engine, EngineRequest
from pants_enginewright.util_rules.launch import launch_files
from pants_enginewright.util_rules.library import Library, LibraryRequest
from pants_enginewright.util_rules.onnxruntime_engine import ENVIRONMENT

MODULE = "enginewright.run.__main__"


@dataclass(frozen=True)
class OnnxruntimeEngineRunFieldSet(RunFieldSet):
    required_fields = (ModelField, ProviderField)
    # The runner is for people: what it prints depends on their prompt and their host.
    run_in_sandbox_behavior = RunInSandboxBehavior.NOT_SUPPORTED

    environment: EnvironmentField


@rule(desc="Run an engine")
async def run_onnxruntime_engine(field_set: OnnxruntimeEngineRunFieldSet) -> RunRequest:
    engine, chosen, library = await MultiGet(
        Get(Engine, EngineRequest(field_set.address.spec, "the command line", None)),
        Get(Tools, ToolsRequest(ENVIRONMENT, None)),
        Get(Library, LibraryRequest(MODULE)),
    )
    tools = chosen.environment
    programs, wheels, package = await MultiGet(
        Get(Digest, CreateDigest, launch_files("run.sh", "launch.sh", "run.py", "start.py")),
        Get(
            Digest,
            CreateDigest(
                [FileContent("wheels.json", canonical_json.dumps(tools.hashes()).encode())]
            ),
        ),
        Get(Digest, AddPrefix(engine.package.digest, "engine")),
    )
    digest = await Get(Digest, MergeDigests([programs, wheels, package, library.digest]))
    return RunRequest(
        digest=digest,
        args=(
            "/bin/sh",
            "{chroot}/run.sh",
            "{chroot}",
            tools.python_version,
            MODULE,
            "{chroot}/engine",
        ),
        extra_env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        immutable_input_digests={"__wheels": tools.wheels.digest},
        append_only_caches={**interpreter.CACHE, "enginewright_tools": ".tools"},
    )


def rules() -> Iterable[Any]:
    return (*collect_rules(), *OnnxruntimeEngineRunFieldSet.rules())

"""`./pants doctor`: is anything wrong with this host, or between it and a packaged engine?"""

from __future__ import annotations

from typing import Any, Iterable

from pants.engine.fs import CreateDigest, Digest, FileContent, MergeDigests, Workspace
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.process import InteractiveProcess, InteractiveProcessResult
from pants.engine.rules import Effect, Get, MultiGet, collect_rules, goal_rule
from pants.option.option_types import ArgsListOption

from pants_enginewright import canonical_json
from pants_enginewright.util_rules import interpreter
from pants_enginewright.util_rules.action import Tools, ToolsRequest
from pants_enginewright.util_rules.launch import launch_files
from pants_enginewright.util_rules.library import Library, LibraryRequest

MODULE = "enginewright.__main__"
ENVIRONMENT = "host"


class DoctorSubsystem(GoalSubsystem):
    name = "doctor"
    help = (
        "Walk hardware, driver, CUDA, container and application, and say what is wrong and how to "
        "mend it. `./pants doctor -- --engine dist/engines/NAME` compares the host with an engine."
    )

    args = ArgsListOption(example="--engine dist/engines/qwen3_fp16", passthrough=True)


class Doctor(Goal):
    subsystem_cls = DoctorSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@goal_rule
async def run_doctor(subsystem: DoctorSubsystem, workspace: Workspace) -> Doctor:
    del workspace  # Named because Pants lets only such a rule start an interactive process.
    chosen, library, programs = await MultiGet(
        Get(Tools, ToolsRequest(ENVIRONMENT, None)),
        Get(Library, LibraryRequest(MODULE)),
        Get(Digest, CreateDigest, launch_files("run.sh", "launch.sh", "run.py", "start.py")),
    )
    tools = chosen.environment
    hashes = FileContent("wheels.json", canonical_json.dumps(tools.hashes()).encode())
    wheels = await Get(Digest, CreateDigest([hashes]))
    digest = await Get(Digest, MergeDigests([programs, wheels, library.digest]))
    result = await Effect(
        InteractiveProcessResult,
        InteractiveProcess(
            argv=(
                *("/bin/sh", "{chroot}/run.sh", "{chroot}", tools.python_version),
                *(MODULE, "doctor", *subsystem.args),
            ),
            input_digest=digest,
            immutable_input_digests={"__wheels": tools.wheels.digest},
            append_only_caches={**interpreter.CACHE, "enginewright_tools": ".tools"},
            run_in_workspace=True,
        ),
    )
    return Doctor(exit_code=result.exit_code)


def rules() -> Iterable[Any]:
    return collect_rules()

"""`./pants doctor`: is anything wrong with this host, or between it and a packaged engine?"""

from __future__ import annotations

from typing import Any, Iterable

from pants.engine.fs import Workspace
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.process import InteractiveProcess, InteractiveProcessResult
from pants.engine.rules import Effect, Get, collect_rules, goal_rule
from pants.option.option_types import ArgsListOption

from pants_enginewright.steps import program
from pants_enginewright.steps.hermetic_process import program_of_a_user
from pants_enginewright.steps.program import Program, ProgramRequest


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
    program = await Get(Program, ProgramRequest("enginewright.commands.doctor", "host"))
    result = await Effect(
        InteractiveProcessResult,
        InteractiveProcess,
        program_of_a_user((*program.argv, *subsystem.args), program.digest, program.wheels),
    )
    return Doctor(exit_code=result.exit_code)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *program.rules(),
    )

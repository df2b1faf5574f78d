"""`./pants build-reference`: the BUILD vocabulary as Markdown, for docs/build_reference.md."""

from __future__ import annotations

from typing import Any, Iterable

from pants.build_graph.build_configuration import BuildConfiguration
from pants.engine.console import Console
from pants.engine.goal import Goal, GoalSubsystem, Outputting
from pants.engine.rules import collect_rules, goal_rule

from pants_enginewright.build_reference import Vocabulary, build_reference


class BuildReferenceSubsystem(Outputting, GoalSubsystem):
    name = "build-reference"
    help = "Print the reference of the backend's targets, fields, goals and options as Markdown."


class BuildReference(Goal):
    subsystem_cls = BuildReferenceSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@goal_rule
async def print_build_reference(
    console: Console, subsystem: BuildReferenceSubsystem, configuration: BuildConfiguration
) -> BuildReference:
    vocabulary = Vocabulary.of(configuration.target_types, configuration.all_subsystems)
    with subsystem.output(console) as write_stdout:
        write_stdout(build_reference(vocabulary))
    return BuildReference(exit_code=0)


def rules() -> Iterable[Any]:
    return collect_rules()

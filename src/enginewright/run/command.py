"""What the command line asks for, done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

from enginewright.engines.package import read_package
from enginewright.engines.registry import find_own
from enginewright.errors import InputError, Problem
from enginewright.run.argument import Argument
from enginewright.run.figures import Report
from enginewright.run.opened import OpenedEngine
from enginewright.run.opening import open_engine
from enginewright.tasks.registry import TASKS, Task, find_task


class Runner(Protocol):
    """The module `runner` of a task's room."""

    TITLE: str
    ARGUMENTS: tuple[Argument, ...]

    def run(
        self, engine: OpenedEngine, given: Mapping[str, Any], stream: TextIO | None
    ) -> Report: ...

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise `InputError` for options that are missing or out of range."""


@dataclass(frozen=True)
class Command:
    folder: Path
    given: Mapping[str, Any] = field(default_factory=dict)
    """Options of the tasks' forms that the user gave, by name."""
    threads: int = 0


def runner_of(task: Task) -> Runner:
    runner: Runner = task.part("runner")
    return runner


def rooms() -> dict[str, tuple[Task, ...]]:
    """The tasks of each room: they share its form."""
    found: dict[str, tuple[Task, ...]] = {}
    for task in TASKS.values():
        found[task.room] = (*found.get(task.room, ()), task)
    return found


def run_command(command: Command, stream: TextIO | None) -> Report:
    """Do what the engine's task does; results go to `stream` as they come, unless it is None."""
    package = read_package(command.folder, find_own)
    task = find_task(package.task, f"{command.folder / 'engine.json'}, `task`")
    runner = runner_of(task)
    _check_form(task, runner, command)
    runner.check(command.given)
    return runner.run(open_engine(package, command.threads), command.given, stream)


def _check_form(task: Task, runner: Runner, command: Command) -> None:
    """Raise `InputError` for options of other tasks."""
    own = {argument.name for argument in runner.ARGUMENTS}
    problems = []
    for tasks in rooms().values():
        for argument in runner_of(tasks[0]).ARGUMENTS:
            if argument.name in command.given and argument.name not in own:
                expected = "task " + " or ".join(other.name for other in tasks)
                what = f"`{argument.flag}` does not fit this engine"
                where, actual = str(command.folder), f"task {task.name}"
                fix = f"run it with {task.usage}"
                problems.append(Problem(what, where, expected, actual, fix))
    if problems:
        raise InputError(problems)

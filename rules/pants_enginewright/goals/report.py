"""`./pants report`: what is in engines, as HTML files into `dist/reports`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple

from pants.core.util_rules.distdir import DistDir
from pants.engine.console import Console
from pants.engine.desktop import OpenFiles, OpenFilesRequest
from pants.engine.fs import AddPrefix, CreateDigest, Digest, FileContent, MergeDigests, Workspace
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.process import InteractiveProcess, InteractiveProcessResult
from pants.engine.rules import Effect, Get, MultiGet, collect_rules, goal_rule, rule
from pants.engine.target import FilteredTargets, Target
from pants.option.option_types import BoolOption

from pants_enginewright import canonical_json
from pants_enginewright.engines import engine
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.engines.targets import EngineOutputPathField
from pants_enginewright.goals.record import describe_source
from pants_enginewright.steps import program, record
from pants_enginewright.steps.files import ComposeFiles, Files
from pants_enginewright.steps.hermetic_process import program_of_a_user
from pants_enginewright.steps.program import Program, ProgramRequest
from pants_enginewright.steps.record import METADATA, RecordSteps, StepsRecord
from pants_enginewright.validation import validation
from pants_enginewright.validation.targets import DeviceField, EngineField
from pants_enginewright.validation.validation import EngineTestKind, Validation, ValidationRequest

FOLDER = "reports"


class ReportSubsystem(GoalSubsystem):
    name = "report"
    help = (
        "Write what is in the named engines as HTML files, one for each and an index of all, into "
        "`dist/reports`. Name an `engine_test` in place of its engine, and the report has what it "
        "measured too."
    )

    open = BoolOption(default=False, help="Open the files in a browser.")


class Report(Goal):
    subsystem_cls = ReportSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@dataclass(frozen=True)
class ReportedRequest:
    """Asks for what the report of a target is made of."""

    target: Target


@dataclass(frozen=True)
class Reported:
    name: str
    files: Digest
    arguments: Tuple[str, ...]
    """Of `enginewright report`; `{chroot}` stands for where `files` lie."""


def is_reported(target: Target) -> bool:
    if EngineTestKind.is_applicable(target):
        return target[DeviceField].value is None
    return target.has_field(EngineOutputPathField)


@rule(desc="Collect what an engine's report is made of")
async def collect_reported(request: ReportedRequest) -> Reported:
    target = request.target
    report: Optional[Files] = None
    named = EngineRequest.by_user(target.address)
    if EngineTestKind.is_applicable(target):
        tested = await Get(Validation, ValidationRequest, ValidationRequest.by_user(target.address))
        report = tested.report if tested.report.entries else None
        named = EngineRequest.by_field(target[EngineField])
    found = await Get(Engine, EngineRequest, named)
    steps = await Get(StepsRecord, RecordSteps(target.address.spec, found.steps))
    weights = [one.file for one in found.built.source.files if one.role == "weights"]
    parts = {
        "package": ComposeFiles.named(found.package.entries, "engine.json"),
        "checkpoint": ComposeFiles(tuple(f for f in weights if f.name.endswith(".safetensors"))),
        "accuracy": ComposeFiles(() if report is None else report.entries),
    }
    files = await MultiGet(Get(Files, ComposeFiles, part) for part in parts.values())
    name = found.address.target_name
    given = {part: files[n].digest for n, part in enumerate(parts) if files[n].entries}
    text = canonical_json.dumps({"steps": plan_record(steps)})
    written = await Get(Digest, CreateDigest([FileContent(f"{name}/record.json", text.encode())]))
    digests = await MultiGet(
        Get(Digest, AddPrefix(digest, f"{name}/{part}")) for part, digest in given.items()
    )
    return Reported(
        name,
        await Get(Digest, MergeDigests([written, *digests])),
        plan_arguments("{chroot}/" + name, given),
    )


def plan_record(steps: StepsRecord) -> Tuple[Dict[str, Any], ...]:
    return tuple({**s, "from": describe_source(s)} for s in steps.metadata()[METADATA]["steps"])


def plan_arguments(folder: str, given: Iterable[str]) -> Tuple[str, ...]:
    known = {
        "package": (f"{folder}/package",),
        "checkpoint": ("--checkpoint", f"{folder}/checkpoint"),
        "accuracy": ("--accuracy", f"{folder}/accuracy/report.json"),
    }
    options = [argument for part in given for argument in known[part]]
    return (*options, "--record", f"{folder}/record.json")


@goal_rule
async def report_engines(
    targets: FilteredTargets,
    console: Console,
    workspace: Workspace,
    dist: DistDir,
    options: ReportSubsystem,
) -> Report:
    del workspace  # Named because Pants lets only such a rule start an interactive process.
    wanted = [target for target in targets if is_reported(target)]
    if not wanted:
        console.print_stderr("no engine, and no `engine_test` that runs on this host, was named")
        return Report(exit_code=1)
    started = await Get(Program, ProgramRequest("enginewright.commands.report", "host"))
    found = await MultiGet(Get(Reported, ReportedRequest(target)) for target in wanted)
    folder = dist.relpath / FOLDER
    for one in found:
        files = await Get(Digest, MergeDigests([started.digest, one.files]))
        argv = (*started.argv, *one.arguments, "--output", str(folder))
        process = program_of_a_user(argv, files, started.wheels)
        result = await Effect(InteractiveProcessResult, InteractiveProcess, process)
        if result.exit_code != 0:
            return Report(exit_code=result.exit_code)
    if options.open:
        names = dict.fromkeys(folder / f"{one.name}.html" for one in found)
        opened = await Get(OpenFiles, OpenFilesRequest(names, error_if_open_not_found=True))
        for process in opened.processes:
            await Effect(InteractiveProcessResult, InteractiveProcess, process)
    return Report(exit_code=0)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *engine.rules(),
        *program.rules(),
        *record.rules(),
        *validation.rules(),
    )

"""Runs one step of the library in a sandbox. Nothing else in the plugin makes such a process."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple, Type, TypeVar

from pants.engine.engine_aware import EngineAwareParameter
from pants.engine.fs import (
    AddPrefix,
    CreateDigest,
    Digest,
    FileContent,
    MergeDigests,
)
from pants.engine.process import FallibleProcessResult, Process, ProcessResultMetadata
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.option.global_options import GlobalOptions
from pants.util.frozendict import FrozenDict
from pants.util.logging import LogLevel

from pants_enginewright import canonical_json
from pants_enginewright.environments import tools
from pants_enginewright.environments.tool_environment import ToolEnvironment
from pants_enginewright.environments.tools import Tools, ToolsRequest
from pants_enginewright.steps import library, made_from, step_outputs
from pants_enginewright.steps.disk_space import NO_SPACE, DiskFullError, folders_of_pants
from pants_enginewright.steps.files import File, Files
from pants_enginewright.steps.hermetic_process import (
    PROGRAM_CACHES,
    PROGRESS,
    PROGRESS_CACHE,
    hermetic_process,
    process_key,
    without_caches,
)
from pants_enginewright.steps.launch import launch_files, launch_hashes
from pants_enginewright.steps.library import Library, LibraryRequest
from pants_enginewright.steps.made_from import MadeFrom, MadeStep, NotedStep, NoteStep
from pants_enginewright.steps.result import read_result
from pants_enginewright.steps.step_outputs import (
    ReadOutputs,
    StepOutputs,
    describe_damage,
    raise_if_damaged,
)
from pants_enginewright.steps.suspicion import was_cached
from pants_enginewright.subsystems import EnginewrightSubsystem

logger = logging.getLogger(__name__)

R = TypeVar("R")

DEFECT = 70
PROGRAMS = ("launch.sh", "start.py")


@dataclass(frozen=True)
class ActionInput:
    """Files of a step by role; roles that share a `folder` lie side by side."""

    role: str
    files: Tuple[File, ...]
    digest: Digest
    folder: str

    @classmethod
    def of(cls, role: str, files: Files, folder: Optional[str] = None) -> ActionInput:
        return cls(role, files.entries, files.digest, folder or role)


@dataclass(frozen=True)
class ActionRequest(EngineAwareParameter):
    action: str
    """What it is called in messages and records."""
    module: str
    """Dotted name of the module of the library that it runs."""
    environment: Optional[str]
    """Kind of the tool environment, a key of `[enginewright].environments`; None: Python alone."""
    tool_environment: Optional[str]
    """Address of a `tool_environment` that takes the place of the one of that kind."""
    address: str
    """The target that the step is for. Not in the key."""
    inputs: Tuple[ActionInput, ...]
    parameters: str
    """Canonical JSON object."""
    modules: Tuple[str, ...] = ()
    """Modules of the library that the step imports by name, such as a part of a task's room."""
    attempt: int = 1
    """Runs a step again whose result is known, to compare."""
    fresh: bool = False
    """Whether it runs past all caches: what these gave has failed a check. Not in the key."""

    @classmethod
    def create(
        cls,
        action: str,
        *,
        address: object,
        module: Optional[str] = None,
        environment: Optional[str] = None,
        tool_environment: Optional[str] = None,
        inputs: Iterable[ActionInput] = (),
        parameters: Mapping[str, Any] = FrozenDict(),
        modules: Iterable[str] = (),
        fresh: bool = False,
    ) -> ActionRequest:
        """`module` is left out for a step of the room `actions`, which has that name there."""
        text = canonical_json.dumps(dict(parameters))
        return cls(
            action,
            module or f"enginewright.actions.{action}",
            environment,
            tool_environment,
            str(address),
            tuple(inputs),
            text,
            tuple(modules),
            fresh=fresh,
        )

    def of_model(self, inputs: Iterable[ActionInput]) -> ActionRequest:
        """The same step, with these inputs beside its own."""
        return dataclasses.replace(self, inputs=(*self.inputs, *inputs))

    def again(self) -> ActionRequest:
        return dataclasses.replace(self, attempt=self.attempt + 1)

    def debug_hint(self) -> str:
        return f"{self.action} for {self.address}"

    def metadata(self) -> Dict[str, Any]:
        """Lets the record show the progress of this run's steps, and say whose it is."""
        name = hashlib.sha256(plan_request(self).encode()).hexdigest()[:16]
        return {PROGRESS: {"file": name, "step": f"{self.action} {self.address}"}}


@dataclass(frozen=True)
class _Warnings:
    warnings: Tuple[str, ...] = ()


@dataclass(frozen=True)
class MadeWith:
    """What a step ran with; the key names all of it."""

    request: ActionRequest
    environment: ToolEnvironment
    library: Files
    """The library's modules, and what else of it the step sees."""


@dataclass(frozen=True)
class ActionResult:
    action: str
    address: str
    key: str
    """sha256 over all that can change the result."""
    files: Files
    """What the step put out, `result.json` included."""
    result: str
    """Text of `result.json`."""
    log: str
    """What the step printed on standard output."""
    # NB: not compared, or a cache hit would look like another result than the run it stands for.
    metadata: ProcessResultMetadata
    repeated: Optional[str] = None
    """sha256 of the tree of what it put out when it ran once more, to compare."""
    is_fresh: bool = False
    """Whether it ran past all caches, and so in each run anew."""
    made_with: Optional[MadeWith] = None
    """None of what is no step of the library, as a file of tests."""
    warnings: Tuple[str, ...] = field(init=False)
    """What the step warns of; read once, since the record of every run asks for it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", self.read(_Warnings).warnings)

    @property
    def origin(self) -> MadeWith:
        """Of a step of the library."""
        assert self.made_with is not None
        return self.made_with

    def read(self, kind: Type[R]) -> R:
        """What the step says, as a frozen dataclass with the fields that a rule asks for."""
        return read_result(kind, self.result, self.address, self.action)

    def made_step(self) -> MadeStep:
        """For the history."""
        outputs = {file.path: file.sha256 for file in self.files.entries}
        return MadeStep(
            self.action,
            self.address,
            self.key,
            describe(self.origin),
            outputs,
            json.loads(self.result),
            self.metadata.total_elapsed_ms or 0,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionResult) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> Tuple[Any, ...]:
        run = self.metadata.source_run_id if self.is_fresh else None
        return (self.action, self.address, self.key, self.files, self.result, self.repeated, run)


class ActionFailed(Exception):  # noqa: N818
    """A step found something wrong, or broke."""

    def __init__(
        self,
        request: ActionRequest,
        exit_code: int,
        stderr: str,
        metadata: Optional[ProcessResultMetadata] = None,
    ) -> None:
        self.exit_code = exit_code
        self.stderr = stderr
        self.metadata = metadata
        kind = "is broken, a defect of ours" if exit_code == DEFECT else "failed"
        super().__init__(f"{request.address}: step `{request.action}` {kind}:\n{stderr.rstrip()}")


def plan_request(request: ActionRequest) -> str:
    """Text of `request.json`."""
    inputs: Dict[str, Any] = {}
    for item in request.inputs:
        inputs.setdefault(item.role, []).extend(
            {"path": f"inputs/{item.folder}/{f.path}", "sha256": f.sha256, "size": f.size}
            for f in item.files
        )
    parameters = json.loads(request.parameters)
    return canonical_json.dumps(
        {"action": request.action, "inputs": inputs, "parameters": parameters}
    )


def plan_process(
    request: ActionRequest, digest: Digest, wheels: Digest, python_version: str
) -> Process:
    return hermetic_process(
        ("/bin/sh", "launch.sh", python_version, "start.py", request.module),
        f"{request.action} {request.address}",
        level=LogLevel.INFO,
        inputs=digest,
        wheels=wheels,
        caches={**PROGRAM_CACHES, **PROGRESS_CACHE},
        variables={
            "PYTHONHASHSEED": "0",
            **({"ENGINEWRIGHT_ATTEMPT": str(request.attempt)} if request.attempt > 1 else {}),
        },
        output_directories=("outputs",),
    )


async def run_process(
    request: ActionRequest, process: Process, options: GlobalOptions
) -> Tuple[FallibleProcessResult, StepOutputs]:
    try:
        result = await Get(FallibleProcessResult, Process, process)
    except Exception as error:
        if NO_SPACE not in str(error):
            raise
        what = f"{request.address}: step `{request.action}`"
        raise DiskFullError(what, folders_of_pants(options)) from None
    if result.exit_code != 0:
        stderr = result.stderr.decode(errors="replace")
        raise ActionFailed(request, result.exit_code, stderr, result.metadata)
    return result, await Get(StepOutputs, ReadOutputs(result.output_digest))


@rule(desc="Run a step", level=LogLevel.DEBUG)
async def run_action(
    request: ActionRequest, subsystem: EnginewrightSubsystem, options: GlobalOptions
) -> ActionResult:
    chosen, library = await MultiGet(
        Get(Tools, ToolsRequest(request.environment, request.tool_environment)),
        Get(Library, LibraryRequest(request.module, request.modules)),
    )
    environment = chosen.environment
    small, programs, *big = await MultiGet(
        Get(
            Digest,
            CreateDigest(
                [FileContent("request.json", plan_request(request).encode()), environment.hashes()]
            ),
        ),
        Get(Digest, CreateDigest, launch_files(*PROGRAMS)),
        *(Get(Digest, AddPrefix(i.digest, f"inputs/{i.folder}")) for i in request.inputs),
    )
    digest = await Get(Digest, MergeDigests([small, programs, library.files.digest, *big]))
    process = plan_process(request, digest, environment.wheels.digest, environment.python_version)
    if request.fresh:
        process = without_caches(process)
    result, outputs = await run_process(request, process, options)
    damage = outputs.damage()
    if damage is not None:
        logger.warning(describe_damage(request.address, request.action, damage))
        result, outputs = await run_process(request, without_caches(process), options)
        raise_if_damaged(request.address, request.action, outputs)
    assert outputs.result is not None
    repeated = None
    if subsystem.repeat_cached and was_cached(result.metadata):
        _, second = await run_process(request, without_caches(process), options)
        repeated = second.files.digest.fingerprint
    done = ActionResult(
        request.action,
        request.address,
        process_key(process),
        outputs.files,
        outputs.result,
        result.stdout.decode(errors="replace"),
        result.metadata,
        repeated,
        request.fresh or damage is not None,
        MadeWith(request, environment, library.files),
    )
    await Get(NotedStep, NoteStep(done.made_step()))
    return done


def describe(made_with: MadeWith) -> MadeFrom:
    """What the key of the step's process stands for."""
    request, environment = made_with.request, made_with.environment
    inputs: Dict[str, Dict[str, str]] = {}
    for item in request.inputs:
        inputs.setdefault(item.role, {}).update({file.path: file.sha256 for file in item.files})
    modules = {file.path: file.sha256 for file in made_with.library.entries}
    return MadeFrom(
        request.module,
        json.loads(request.parameters),
        inputs,
        {**modules, **launch_hashes(*PROGRAMS)},
        {wheel.path: wheel.sha256 for wheel in environment.wheels.entries},
        environment.python_version,
        request.attempt,
        {file.sha256: file.size for item in request.inputs for file in item.files},
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *tools.rules(),
        *library.rules(),
        *step_outputs.rules(),
        *made_from.rules(),
    )

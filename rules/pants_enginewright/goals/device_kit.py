"""`./pants device-kit`: tests on a device with all that they need, to carry to a host with it."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Tuple

from pants.core.util_rules.distdir import DistDir
from pants.engine.console import Console
from pants.engine.fs import Digest, RemovePrefix, Workspace
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.rules import Get, MultiGet, collect_rules, goal_rule, rule
from pants.engine.target import FilteredTargets
from pants.option.option_types import IntOption, StrListOption, StrOption

from pants_enginewright.environments import tools
from pants_enginewright.environments.tools import Tools, ToolsRequest
from pants_enginewright.steps import action, library
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult, plan_request
from pants_enginewright.steps.files import ComposeFiles, File, Files, ListFiles
from pants_enginewright.steps.library import FOLDER, Library, LibraryRequest
from pants_enginewright.validation import device_test
from pants_enginewright.validation.device_test import DeviceTest, DeviceTestKind, DeviceTestRequest
from pants_enginewright.validation.targets import DeviceField

WHEEL = re.compile(r"([^-]+)-([^-]+)-.*\.whl")


class DeviceKitSubsystem(GoalSubsystem):
    name = "device-kit"
    help = (
        "Put the named `engine_test` targets with a `device` and `engine_benchmark` targets into a "
        "folder, with engines, references and the library. `python3 run.py` in it runs them on a "
        "host with nothing but Python, the packages that are not in `wheels`, and a driver."
    )

    folder = StrOption(default="device_kit", help="Folder below `dist` to write.")
    part_megabytes = IntOption(default=60, help="Greatest size of a part.")
    wheels = StrListOption(
        help="Packages of the tests' tool environments that the kit brings along, by name."
    )
    leave_out = StrListOption(
        help=(
            "Patterns of input files that are not put in, such as '*.safetensors': whoever carries "
            "the kit has them there, and names their folder to `run.py --files`. They are found by "
            "their content."
        )
    )


class DeviceKit(Goal):
    subsystem_cls = DeviceKitSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@dataclass(frozen=True)
class KitPartRequest:
    test: DeviceTestRequest


@dataclass(frozen=True)
class KitPart:
    """What one test needs."""

    step: ActionRequest
    library: Files
    wheels: Files

    @property
    def inputs(self) -> Dict[str, File]:
        """By path in the folder of the test."""
        return {
            f"inputs/{item.folder}/{file.path}": file
            for item in self.step.inputs
            for file in item.files
        }

    def described(self) -> Dict[str, Any]:
        return {
            "address": self.step.address,
            "action": self.step.action,
            "module": self.step.module,
            "request": plan_request(self.step),
            "inputs": {path: file.sha256 for path, file in self.inputs.items()},
        }


@rule
async def collect_kit_part(request: KitPartRequest) -> KitPart:
    test = await Get(DeviceTest, DeviceTestRequest, request.test)
    step = test.step
    found, chosen = await MultiGet(
        Get(Library, LibraryRequest(step.module, step.modules)),
        Get(Tools, ToolsRequest(step.environment, step.tool_environment)),
    )
    modules = await Get(
        Files, ListFiles(await Get(Digest, RemovePrefix(found.files.digest, FOLDER)))
    )
    return KitPart(step, modules, chosen.environment.wheels)


def locked_versions(wheels: Iterable[File]) -> Dict[str, str]:
    """By package; the name of a wheel says it."""
    found = (WHEEL.fullmatch(wheel.name) for wheel in wheels)
    return {normalized(match[1]): match[2] for match in found if match}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def plan_kit(
    parts: Iterable[KitPart], brought: Iterable[str], left_out: Iterable[str], part_bytes: int
) -> Tuple[Dict[str, Any], List[File]]:
    """Parameters of the step, and the files that it gets, each once."""
    parts = tuple(parts)
    names, patterns = {normalized(name) for name in brought}, tuple(left_out)
    library = {file.path: file for part in parts for file in part.library.entries}
    locked = [wheel for part in parts for wheel in part.wheels.entries]
    wheels = {w.name: w for w in locked if {*locked_versions([w])} & names}
    inputs = {path: file for part in parts for path, file in part.inputs.items()}
    absent = {
        file.sha256: path
        for path, file in inputs.items()
        if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)
    }
    every = [*library.values(), *wheels.values(), *(f for p in parts for f in p.inputs.values())]
    unique = {file.sha256: file for file in every}
    parameters = {
        "tests": [part.described() for part in parts],
        "library": {path: file.sha256 for path, file in library.items()},
        "wheels": {name: wheel.sha256 for name, wheel in wheels.items()},
        "locked": locked_versions(locked),
        "left_out": absent,
        "sizes": {sha256: file.size for sha256, file in unique.items()},
        "part_bytes": part_bytes,
    }
    return parameters, [f.at(sha) for sha, f in sorted(unique.items()) if sha not in absent]


@goal_rule
async def make_device_kit(
    targets: FilteredTargets,
    console: Console,
    workspace: Workspace,
    dist: DistDir,
    options: DeviceKitSubsystem,
) -> DeviceKit:
    wanted = [
        target
        for target in targets
        if DeviceTestKind.is_applicable(target) and target[DeviceField].value is not None
    ]
    if not wanted:
        console.print_stderr("no `engine_test` with a `device` and no `engine_benchmark` was named")
        return DeviceKit(exit_code=1)
    parts = await MultiGet(
        Get(KitPart, KitPartRequest(DeviceTestRequest.by_user(t.address))) for t in wanted
    )
    parameters, files = plan_kit(
        parts, options.wheels, options.leave_out, options.part_megabytes * 1_000_000
    )
    composed = await Get(Files, ComposeFiles(tuple(files)))
    made = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "make_device_kit",
            address=wanted[0].address,
            inputs=[ActionInput.of("files", composed)],
            parameters=parameters,
        ),
    )
    names = [file.path for file in made.files.entries if file.path != "result.json"]
    kit = await Get(Files, ComposeFiles, ComposeFiles.named(made.files.entries, *names))
    folder = str(dist.relpath / options.folder)
    workspace.write_digest(kit.digest, path_prefix=folder, clear_paths=(folder,))
    for file in kit.entries:
        console.print_stdout(f"{folder}/{file.path}  {file.size:,} bytes  sha256 {file.sha256}")
    return DeviceKit(exit_code=0)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *action.rules(),
        *device_test.rules(),
        *library.rules(),
        *tools.rules(),
    )

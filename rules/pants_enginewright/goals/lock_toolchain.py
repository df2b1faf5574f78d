"""`./pants lock-toolchain`: resolves the request of each `toolchain` target into its TOML file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable

import toml
from pants.engine.console import Console
from pants.engine.fs import Digest, DigestContents, PathGlobs, Workspace
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.rules import Get, MultiGet, collect_rules, goal_rule, rule
from pants.engine.target import (
    FilteredTargets,
    HydratedSources,
    HydrateSourcesRequest,
    InvalidTargetException,
    Target,
)
from pants.option.option_types import BoolOption

from pants_enginewright.build_files.addresses import TargetOfKind, TargetOfKindRequest
from pants_enginewright.environments.targets import (
    ToolchainRequestField,
    ToolchainSourceField,
    ToolchainTarget,
)
from pants_enginewright.environments.tool_environment import (
    ToolEnvironment,
    ToolEnvironmentKind,
    ToolEnvironmentRequest,
)
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Data, Files, ListData, ListFiles


class LockToolchainSubsystem(GoalSubsystem):
    name = "lock-toolchain"
    help = (
        "Resolve the `request` of each `toolchain` target (product, CUDA, targets) into its TOML "
        "file: full version, library hashes, limits and minimum driver."
    )

    check = BoolOption(
        default=False,
        help="Write nothing; fail where a file differs from what its request resolves to.",
    )


class LockToolchain(Goal):
    subsystem_cls = LockToolchainSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@dataclass(frozen=True)
class ToolchainLockRequest:
    target: Target


@dataclass(frozen=True)
class ToolchainLock:
    path: str
    digest: Digest
    """The file at its path in the workspace."""
    is_current: bool


def environment_of(document: Dict[str, Any], path: str) -> str:
    environment = document.get("environment")
    if not isinstance(environment, str):
        raise InvalidTargetException(
            f"{path}: `environment` is {environment!r}; expected the address of a "
            f"`tool_environment` target"
        )
    return environment


@rule(desc="Lock a toolchain")
async def lock_toolchain(request: ToolchainLockRequest) -> ToolchainLock:
    target = request.target
    name = target[ToolchainRequestField].value
    folder = target.address.spec_path
    path = f"{folder}/{name}"
    written = f"{folder}/{target[ToolchainSourceField].value}"
    wanted, present = await MultiGet(
        Get(Digest, PathGlobs([path])), Get(Digest, PathGlobs([written]))
    )
    contents = await Get(DigestContents, Digest, wanted)
    if not contents:
        raise InvalidTargetException(
            f"`toolchain` target {target.address}: field `request` names {path}, which is missing"
        )
    try:
        document = toml.loads(contents[0].content.decode())
    except (toml.TomlDecodeError, UnicodeDecodeError) as error:
        raise InvalidTargetException(f"{path} is not TOML: {error}") from error
    spec = environment_of(document, path)
    tools = await Get(ToolEnvironment, ToolEnvironmentRequest(spec, f"`environment` of {path}"))
    found = await Get(TargetOfKind, TargetOfKindRequest(spec, ToolEnvironmentKind, path))
    environment = found.of(ToolEnvironmentKind)
    lock = await Get(HydratedSources, HydrateSourcesRequest(environment.lock))
    requested, locked = await MultiGet(
        Get(Data, ListData(wanted)), Get(Data, ListData(lock.snapshot.digest))
    )
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "lock_toolchain",
            address=target.address,
            environment="host",
            inputs=[
                ActionInput.of("request", requested.files),
                ActionInput.of("lock", locked.files),
                ActionInput.of("wheels", tools.wheels),
            ],
            parameters={"python": environment.python.value},
        ),
    )
    toolchain = result.files.by_path()["toolchain.toml"].at(written)
    resolved, current = await MultiGet(
        Get(Files, ComposeFiles((toolchain,))), Get(Files, ListFiles(present))
    )
    return ToolchainLock(written, resolved.digest, resolved.entries == current.entries)


@goal_rule
async def lock_toolchains(
    targets: FilteredTargets,
    console: Console,
    workspace: Workspace,
    subsystem: LockToolchainSubsystem,
) -> LockToolchain:
    wanted = [
        t for t in targets if isinstance(t, ToolchainTarget) and t[ToolchainRequestField].value
    ]
    if not wanted:
        console.print_stderr("no `toolchain` target with a `request` was named")
        return LockToolchain(exit_code=1)
    locks = await MultiGet(Get(ToolchainLock, ToolchainLockRequest(t)) for t in wanted)
    stale = [lock for lock in locks if not lock.is_current]
    for lock in locks:
        state = "is current" if lock.is_current else "differs from its request"
        if not subsystem.check and not lock.is_current:
            workspace.write_digest(lock.digest)
            state = "written"
        console.print_stdout(f"{lock.path} {state}")
    return LockToolchain(exit_code=1 if subsystem.check and stale else 0)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *action.rules(),
    )

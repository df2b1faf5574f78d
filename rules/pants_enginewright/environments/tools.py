"""The tool environment that a step runs in: by its kind, or by its address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional

from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.environments import tool_environment
from pants_enginewright.environments.interpreter import Interpreter, InterpreterRequest
from pants_enginewright.environments.tool_environment import ToolEnvironment, ToolEnvironmentRequest
from pants_enginewright.steps.files import Files
from pants_enginewright.subsystems import EnginewrightSubsystem


@dataclass(frozen=True)
class ToolsRequest:
    kind: Optional[str]
    """A key of `[enginewright].environments`; None: Python alone, where there is no `spec`."""
    spec: Optional[str]
    """Address of one that takes the place of the one of that kind."""


@dataclass(frozen=True)
class Tools:
    environment: ToolEnvironment


@rule
async def choose_tools(request: ToolsRequest, subsystem: EnginewrightSubsystem) -> Tools:
    if request.spec is None and request.kind is None:
        python = await Get(Interpreter, InterpreterRequest("3.11"))
        return Tools(ToolEnvironment(None, python.version, Files()))
    spec, origin = request.spec, "the toolchain's `environment`"
    if spec is None:
        assert request.kind is not None
        spec = subsystem.environments.get(request.kind)
        origin = f"`[enginewright].environments` ({request.kind})"
    if spec is None:
        known = ", ".join(sorted(subsystem.environments))
        raise ValueError(f"`[enginewright].environments` lacks `{request.kind}`; it has: {known}")
    return Tools(await Get(ToolEnvironment, ToolEnvironmentRequest(spec, origin)))


def rules() -> Iterable[Any]:
    return (*collect_rules(), *tool_environment.rules())

"""CPython for the steps: known to a key by its version, to a host by its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from pants.backend.python.util_rules.interpreter_constraints import InterpreterConstraints
from pants.backend.python.util_rules.pex_environment import PythonExecutable
from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, collect_rules, rule
from pants.util.frozendict import FrozenDict
from pants.util.logging import LogLevel

CACHE = FrozenDict({"enginewright_python": ".python"})

_LINK = """
set -eu
version=$("$1" -I -c 'import platform; print(platform.python_version())')
ln -sfn "$1" ".python/$version"
printf %s "$version"
"""


@dataclass(frozen=True)
class InterpreterRequest:
    minor: str
    """`major.minor`, such as `3.11`."""


@dataclass(frozen=True)
class Interpreter:
    """The sandbox finds it as the link `.python/VERSION` of the named cache `CACHE`."""

    version: str


@rule(desc="Find CPython", level=LogLevel.DEBUG)
async def find_interpreter_version(request: InterpreterRequest) -> Interpreter:
    python = await Get(PythonExecutable, InterpreterConstraints([f"CPython=={request.minor}.*"]))
    result = await Get(
        ProcessResult,
        Process(
            ["/bin/sh", "-c", _LINK, "sh", python.path],
            description=f"Link CPython {request.minor}",
            level=LogLevel.DEBUG,
            append_only_caches=CACHE,
            env={"PATH": "/usr/bin:/bin"},
            # The link lives in a folder that no digest covers: make it again with each daemon.
            cache_scope=ProcessCacheScope.PER_RESTART_SUCCESSFUL,
        ),
    )
    return Interpreter(result.stdout.decode())


def rules() -> Iterable[Any]:
    return collect_rules()

"""CPython for the steps: known to a key by its version, to a host by its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.core.subsystems.python_bootstrap import PythonBootstrap
from pants.engine.process import FallibleProcessResult, Process, ProcessCacheScope
from pants.engine.rules import Get, collect_rules, rule
from pants.util.logging import LogLevel

from pants_enginewright.compat import EnvironmentTarget, is_local
from pants_enginewright.steps.hermetic_process import PYTHON_CACHE, hermetic_process

# Where `launch.sh` looks too: a container or a worker keeps no named cache for us.
SYSTEM_FOLDERS = ("/usr/local/bin", "/usr/bin")

# NB: not Pants' own search for interpreters: that is a PEX process with paths of the host in its
# key, seconds long, and a first run on a fresh host whose steps are all cached would wait for it.
_FIND = """
set -eu
minor=$1; shift
for place in "$@"; do
    [ ! -d "$place" ] || place=$place/python$minor
    [ -x "$place" ] || continue
    # A shim of a version manager is there even where its version is not.
    found=$("$place" -I -c 'import os, platform, sys
if platform.python_implementation() == "CPython":
    print(platform.python_version(), os.path.realpath(sys.executable))' 2>/dev/null) || continue
    version=${found%% *}
    case $version in "$minor".*) ;; *) continue ;; esac
    [ ! -d .python ] || ln -sfn "${found#* }" ".python/$version"
    printf %s "$version"
    exit 0
done
exit 1
"""


@dataclass(frozen=True)
class InterpreterRequest:
    minor: str
    """`major.minor`, such as `3.11`."""


@dataclass(frozen=True)
class Interpreter:
    """The sandbox finds it as the link `.python/VERSION` of the named cache `PYTHON_CACHE`."""

    version: str


class InterpreterNotFoundError(Exception):
    def __init__(self, minor: str, places: Tuple[str, ...]) -> None:
        super().__init__(
            f"CPython {minor} was not found in: {', '.join(places)}\n"
            f"Install it there, or name its folder in `[python-bootstrap].search_path`, and run "
            f"again with `--no-pantsd` or after `./pants` was restarted."
        )


@rule(desc="Find CPython", level=LogLevel.DEBUG)
async def find_interpreter_version(
    request: InterpreterRequest, environment: EnvironmentTarget
) -> Interpreter:
    """The first of that version in the environment that the process will run in."""
    places: Tuple[str, ...] = SYSTEM_FOLDERS
    if is_local(environment):
        bootstrap = await Get(PythonBootstrap)
        places = tuple(dict.fromkeys((*bootstrap.interpreter_search_paths, *SYSTEM_FOLDERS)))
    result = await Get(
        FallibleProcessResult,
        Process,
        hermetic_process(
            ["/bin/sh", "-c", _FIND, "sh", request.minor, *places],
            f"Find CPython {request.minor}",
            caches=PYTHON_CACHE,
            # The link lives in a folder that no digest covers: make it again with each daemon.
            scope=ProcessCacheScope.PER_RESTART_SUCCESSFUL,
        ),
    )
    if result.exit_code != 0:
        raise InterpreterNotFoundError(request.minor, places)
    return Interpreter(result.stdout.decode())


def rules() -> Iterable[Any]:
    return collect_rules()

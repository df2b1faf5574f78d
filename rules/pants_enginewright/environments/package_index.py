"""Where packages come from, and by which pip: settings that reach a process, but not its key.

The lock pins the hash of every artifact, so neither the place nor the pip can change what is
downloaded. They go through a named cache as a small script that the downloading process reads.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from typing import Any, Iterable, Mapping

from pants.backend.python.subsystems.repos import PythonRepos
from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, collect_rules, rule
from pants.option.global_options import GlobalOptions
from pants.util.frozendict import FrozenDict
from pants.util.logging import LogLevel

from pants_enginewright.steps.hermetic_process import INDEX_CACHE, hermetic_process

# In one step: other checkouts on this host share the cache, and may be reading.
_WRITE = 'printf %s "$1" > ".index/settings.$$" && mv ".index/settings.$$" .index/settings.sh'


@dataclass(frozen=True)
class PackageIndexSettings:
    """Written to `.index/settings.sh` of the named cache `INDEX_CACHE`.

    Other checkouts of this user write there too: good enough for what a hash pins, and for nothing
    else. A process whose result they decide takes `variables` instead.
    """

    variables: FrozenDict[str, str]


def index_variables(
    indexes: tuple[str, ...], find_links: tuple[str, ...], certificates: str | None
) -> dict[str, str]:
    """The settings for pip and for uv."""
    variables: dict[str, str] = {}
    if indexes:
        variables["PIP_INDEX_URL"] = variables["UV_DEFAULT_INDEX"] = indexes[0]
        if indexes[1:]:
            variables["PIP_EXTRA_INDEX_URL"] = variables["UV_INDEX"] = " ".join(indexes[1:])
    else:
        variables["PIP_NO_INDEX"] = variables["UV_NO_INDEX"] = "1"
    if find_links:
        variables["PIP_FIND_LINKS"] = " ".join(find_links)
        variables["UV_FIND_LINKS"] = ",".join(find_links)
    if certificates:
        variables["PIP_CERT"] = variables["SSL_CERT_FILE"] = certificates
    return variables


def exports(variables: Mapping[str, str]) -> str:
    """Shell lines that export the variables."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def pip_setting(spec: ModuleSpec | None) -> str:
    """Shell line that says where the package `pip` lies: the one that installed Pants."""
    if spec is None or spec.origin is None:
        raise ValueError(
            f"the Python that Pants runs in, {sys.executable}, has no pip to download wheels with: "
            f"run `{sys.executable} -m ensurepip`"
        )
    return f"export ENGINEWRIGHT_PIP={shlex.quote(os.path.dirname(spec.origin))}\n"


@rule(desc="Write package index settings", level=LogLevel.DEBUG)
async def write_package_index_settings(
    repos: PythonRepos, global_options: GlobalOptions
) -> PackageIndexSettings:
    variables = index_variables(
        tuple(repos.indexes), tuple(repos.find_links), global_options.ca_certs_path
    )
    text = exports(variables) + pip_setting(importlib.util.find_spec("pip"))
    await Get(
        ProcessResult,
        Process,
        hermetic_process(
            ["/bin/sh", "-c", _WRITE, "sh", text],
            "Write package index settings",
            caches=INDEX_CACHE,
            scope=ProcessCacheScope.PER_RESTART_SUCCESSFUL,
        ),
    )
    return PackageIndexSettings(FrozenDict(variables))


def rules() -> Iterable[Any]:
    return collect_rules()

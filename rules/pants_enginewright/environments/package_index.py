"""Where packages come from, and by which pip: settings that reach a process, but not its key.

The lock pins the hash of every artifact, so neither the place nor the pip can change a result. They
go through a named cache as a small script that the downloading process reads.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from typing import Any, Iterable

from pants.backend.python.subsystems.repos import PythonRepos
from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, collect_rules, rule
from pants.option.global_options import GlobalOptions
from pants.util.frozendict import FrozenDict
from pants.util.logging import LogLevel

CACHE = FrozenDict({"enginewright_downloads": ".index"})

# In one step: other checkouts on this host share the cache, and may be reading.
_WRITE = 'printf %s "$1" > ".index/settings.$$" && mv ".index/settings.$$" .index/settings.sh'


@dataclass(frozen=True)
class PackageIndexSettings:
    """Written to `.index/settings.sh` of the named cache `CACHE`."""


def plan_settings(
    indexes: tuple[str, ...], find_links: tuple[str, ...], certificates: str | None
) -> str:
    """Shell lines that export the settings for pip and for uv."""
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
    text = plan_settings(
        tuple(repos.indexes), tuple(repos.find_links), global_options.ca_certs_path
    ) + pip_setting(importlib.util.find_spec("pip"))
    await Get(
        ProcessResult,
        Process(
            ["/bin/sh", "-c", _WRITE, "sh", text],
            description="Write package index settings",
            level=LogLevel.DEBUG,
            append_only_caches=CACHE,
            env={"PATH": "/usr/bin:/bin"},
            cache_scope=ProcessCacheScope.PER_RESTART_SUCCESSFUL,
        ),
    )
    return PackageIndexSettings()


def rules() -> Iterable[Any]:
    return collect_rules()

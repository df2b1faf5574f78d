"""A `tool_environment` as wheels: each an input of a step, with the hash that the lock pins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional

from pants.engine.addresses import Address
from pants.engine.fs import (
    CreateDigest,
    Digest,
    DigestEntries,
    FileEntry,
    MergeDigests,
    RemovePrefix,
)
from pants.engine.process import Process, ProcessResult
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import HydratedSources, HydrateSourcesRequest, Target
from pants.util.logging import LogLevel

from pants_enginewright.compat import ChosenLocalEnvironmentName, EnvironmentName
from pants_enginewright.targets.environments import (
    LockField,
    PythonVersionField,
    ToolEnvironmentTarget,
)
from pants_enginewright.util_rules import interpreter, package_index
from pants_enginewright.util_rules.addresses import TargetOfKind, TargetOfKindRequest
from pants_enginewright.util_rules.files import Files, ListFiles
from pants_enginewright.util_rules.interpreter import Interpreter, InterpreterRequest
from pants_enginewright.util_rules.launch import launch_files
from pants_enginewright.util_rules.package_index import PackageIndexSettings
from pants_enginewright.util_rules.remote_cache import LOOKUP_FIRST
from pants_enginewright.util_rules.step_outputs import without_caches


@dataclass(frozen=True)
class ToolEnvironmentRequest:
    spec: str
    """Address of a `tool_environment` target, as the user writes it."""
    origin: str
    """Where the address comes from, for error messages."""
    relative_to: Optional[Address] = None


@dataclass(frozen=True)
class ToolEnvironment:
    address: Optional[Address]
    """None for plain Python, without packages."""
    python_version: str
    wheels: Files
    """The wheels, side by side, by file name."""

    def hashes(self) -> Dict[str, str]:
        return {wheel.path: wheel.sha256 for wheel in self.wheels.entries}


@dataclass(frozen=True)
class DownloadWheels:
    target: Target


@dataclass(frozen=True)
class DownloadedWheels:
    files: Files


@rule
async def make_tool_environment(request: ToolEnvironmentRequest) -> ToolEnvironment:
    found, local = await MultiGet(
        Get(
            TargetOfKind,
            TargetOfKindRequest(
                request.spec, (ToolEnvironmentTarget.alias,), request.origin, request.relative_to
            ),
        ),
        Get(ChosenLocalEnvironmentName),
    )
    # NB: the interpreter is that of the environment where the step will run. The wheels are
    # downloaded here, whatever that is: a worker has no network.
    python, wheels = await MultiGet(
        Get(Interpreter, InterpreterRequest(found.target[PythonVersionField].value)),
        Get(
            DownloadedWheels,
            {DownloadWheels(found.target): DownloadWheels, local.val: EnvironmentName},
        ),
    )
    return ToolEnvironment(found.target.address, python.version, wheels.files)


async def download(process: Process) -> Files:
    result = await Get(ProcessResult, Process, process)
    return await Get(
        Files, ListFiles(await Get(Digest, RemovePrefix(result.output_digest, "wheels")))
    )


@rule(desc="Download a tool environment", level=LogLevel.DEBUG)
async def download_wheels(request: DownloadWheels) -> DownloadedWheels:
    target = request.target
    python, sources, script, _ = await MultiGet(
        Get(Interpreter, InterpreterRequest(target[PythonVersionField].value)),
        Get(HydratedSources, HydrateSourcesRequest(target[LockField])),
        Get(Digest, CreateDigest, launch_files("download.sh")),
        Get(PackageIndexSettings),
    )
    (entry,) = await Get(DigestEntries, Digest, sources.snapshot.digest)
    assert isinstance(entry, FileEntry)
    lock = await Get(Digest, CreateDigest([FileEntry("lock.txt", entry.file_digest)]))
    digest = await Get(Digest, MergeDigests([lock, script]))
    process = Process(
        ["/bin/sh", "download.sh", python.version],
        description=f"Download the wheels of {target.address}",
        level=LogLevel.INFO,
        input_digest=digest,
        append_only_caches={
            **interpreter.CACHE,
            **package_index.CACHE,
            "enginewright_pip": ".pip-cache",
        },
        env={"PATH": "/usr/bin:/bin"},
        output_directories=("wheels",),
        remote_cache_speculation_delay_millis=LOOKUP_FIRST,
    )
    files = await download(process)
    if not files.entries:
        # What a damaged entry of a cache looks like: see `StepOutputs.damage`.
        files = await download(without_caches(process))
    return DownloadedWheels(files)


def rules() -> Iterable[Any]:
    return collect_rules()

"""A `tool_environment` as wheels: each an input of a step, with the hash that the lock pins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional

from pants.engine.addresses import Address
from pants.engine.fs import (
    CreateDigest,
    Digest,
    DigestEntries,
    FileContent,
    FileEntry,
    MergeDigests,
    RemovePrefix,
)
from pants.engine.process import Process, ProcessResult
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import HydratedSources, HydrateSourcesRequest
from pants.util.logging import LogLevel

from pants_enginewright import canonical_json
from pants_enginewright.build_files import addresses
from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.kind import Kind
from pants_enginewright.compat import ChosenLocalEnvironmentName, EnvironmentName
from pants_enginewright.environments import interpreter, package_index
from pants_enginewright.environments.interpreter import Interpreter, InterpreterRequest
from pants_enginewright.environments.package_index import PackageIndexSettings
from pants_enginewright.environments.targets import (
    LockField,
    PythonVersionField,
    RequirementsField,
)
from pants_enginewright.steps import files
from pants_enginewright.steps.files import Files, ListFiles
from pants_enginewright.steps.hermetic_process import (
    INDEX_CACHE,
    PIP_CACHE,
    PYTHON_CACHE,
    hermetic_process,
    without_caches,
)
from pants_enginewright.steps.launch import launch_files


@dataclass(frozen=True)
class ToolEnvironmentKind(Kind):
    """A `tool_environment` target."""

    required_fields = (RequirementsField, LockField)

    lock: LockField
    python: PythonVersionField


@dataclass(frozen=True)
class ToolEnvironmentRequest(NamedTarget):
    """Asks for the wheels of a `tool_environment` target."""


@dataclass(frozen=True)
class ToolEnvironment:
    address: Optional[Address]
    """None for plain Python, without packages."""
    python_version: str
    wheels: Files
    """The wheels, side by side, by file name."""

    def hashes(self) -> FileContent:
        """`wheels.json`, which tells `launch/start.py` what to unpack."""
        hashes = {wheel.path: wheel.sha256 for wheel in self.wheels.entries}
        return FileContent("wheels.json", canonical_json.dumps(hashes).encode())


@dataclass(frozen=True)
class DownloadWheels:
    kind: ToolEnvironmentKind


@dataclass(frozen=True)
class DownloadedWheels:
    files: Files


@rule
async def make_tool_environment(request: ToolEnvironmentRequest) -> ToolEnvironment:
    found, local = await MultiGet(
        Get(TargetOfKind, TargetOfKindRequest, request.of_kind(ToolEnvironmentKind)),
        Get(ChosenLocalEnvironmentName),
    )
    kind = found.of(ToolEnvironmentKind)
    # NB: the interpreter is that of the environment where the step will run. The wheels are
    # downloaded here, whatever that is: a worker has no network.
    python, wheels = await MultiGet(
        Get(Interpreter, InterpreterRequest(kind.python.value)),
        Get(
            DownloadedWheels,
            {DownloadWheels(kind): DownloadWheels, local.val: EnvironmentName},
        ),
    )
    return ToolEnvironment(kind.address, python.version, wheels.files)


async def download(process: Process) -> Files:
    result = await Get(ProcessResult, Process, process)
    return await Get(
        Files, ListFiles(await Get(Digest, RemovePrefix(result.output_digest, "wheels")))
    )


@rule(desc="Download a tool environment", level=LogLevel.DEBUG)
async def download_wheels(request: DownloadWheels) -> DownloadedWheels:
    kind = request.kind
    python, sources, script, _ = await MultiGet(
        Get(Interpreter, InterpreterRequest(kind.python.value)),
        Get(HydratedSources, HydrateSourcesRequest(kind.lock)),
        Get(Digest, CreateDigest, launch_files("download.sh")),
        Get(PackageIndexSettings),
    )
    (entry,) = await Get(DigestEntries, Digest, sources.snapshot.digest)
    assert isinstance(entry, FileEntry)
    lock = await Get(Digest, CreateDigest([FileEntry("lock.txt", entry.file_digest)]))
    digest = await Get(Digest, MergeDigests([lock, script]))
    process = hermetic_process(
        ["/bin/sh", "download.sh", python.version],
        f"Download the wheels of {kind.address}",
        level=LogLevel.INFO,
        inputs=digest,
        caches={**PYTHON_CACHE, **INDEX_CACHE, **PIP_CACHE},
        output_directories=("wheels",),
    )
    files = await download(process)
    if not files.entries:
        # What a damaged entry of a cache looks like: see `StepOutputs.damage`.
        files = await download(without_caches(process))
    return DownloadedWheels(files)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *ToolEnvironmentKind.rules(),
        *addresses.rules(),
        *interpreter.rules(),
        *package_index.rules(),
        *files.rules(),
    )

"""Files whose bytes are all here, and not in a remote cache alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from pants.engine.fs import Digest
from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.compat import ChosenLocalEnvironmentName, EnvironmentName
from pants_enginewright.steps.hermetic_process import hermetic_process


@dataclass(frozen=True)
class FetchFiles:
    package: str
    """Path of the package that they are."""
    digest: Digest


@dataclass(frozen=True)
class FetchedFiles:
    """All bytes are in the store of this host."""


class FilesNotFetchedError(Exception):
    def __init__(self, package: str, error: str) -> None:
        reason = error.strip().splitlines()[-1] if error.strip() else "no reason was given"
        super().__init__(
            f"The package {package} could not be brought here: {reason}\n"
            f"Nothing of it was written. Run again; where the remote cache stays away, with "
            f"`--no-remote-cache-read`."
        )


@rule
async def fetch_files(request: FetchFiles) -> FetchedFiles:
    """Have all bytes of a package here.

    Pants writes a package file by file, and fetches each from the remote cache when its turn comes:
    where that broke off, dist/ would keep half a package. A process that has it as its input, and
    does nothing, brings all of it into the store before. Once for each daemon: a repository has
    hundreds of packages, and most do not change.
    """
    local = await Get(ChosenLocalEnvironmentName)
    process = hermetic_process(
        ["/bin/sh", "-c", ":"],
        f"Fetch the package {request.package}",
        inputs=request.digest,
        scope=ProcessCacheScope.PER_RESTART_SUCCESSFUL,
    )
    try:
        await Get(ProcessResult, {process: Process, local.val: EnvironmentName})
    except Exception as error:
        raise FilesNotFetchedError(request.package, str(error)) from None
    return FetchedFiles()


def rules() -> Iterable[Any]:
    return collect_rules()

"""Files of a package at their place in dist/, once nothing speaks against writing them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.base.build_root import BuildRoot
from pants.core.goals.package import BuiltPackage, BuiltPackageArtifact, OutputPathField
from pants.core.util_rules.distdir import DistDir
from pants.engine.addresses import Address
from pants.engine.fs import AddPrefix, Digest
from pants.engine.internals.session import RunId
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import AllTargets, InvalidTargetException
from pants.util.strutil import bullet_list

from pants_enginewright.steps import fetched_files, record
from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.disk_space import raise_if_too_large
from pants_enginewright.steps.fetched_files import FetchedFiles, FetchFiles
from pants_enginewright.steps.files import Files
from pants_enginewright.steps.record import RecordSteps, StepsRecord, raise_if_not_deterministic


@dataclass(frozen=True)
class FinishPackage:
    files: Files
    steps: Tuple[ActionResult, ...]
    output_path: OutputPathField


@dataclass(frozen=True)
class FinishedPackage:
    package: BuiltPackage


def raise_if_shared(path: str, writers: Iterable[Address]) -> None:
    """Pants would merge what two targets write, or stop and print the files that differ."""
    addresses = sorted(address.spec for address in writers)
    if len(addresses) > 1:
        raise InvalidTargetException(
            f"{len(addresses)} targets write dist/{path}:\n{bullet_list(addresses)}\n"
            f"Give each a field `{OutputPathField.alias}` of its own, or none."
        )


@rule
async def finish_package(
    request: FinishPackage, dist: DistDir, root: BuildRoot, run_id: RunId
) -> FinishedPackage:
    del run_id  # Space on the disk is asked for anew in each run.
    path = request.output_path.value_or_default(file_ending=None)
    # Without a field the path is the address; other BUILD files are read only where there is one.
    if request.output_path.value is not None:
        targets = await Get(AllTargets)
        outputs = [t[OutputPathField] for t in targets if t.has_field(OutputPathField)]
        same = [o.address for o in outputs if o.value_or_default(file_ending=None) == path]
        raise_if_shared(path, same)
    digest = await Get(Digest, AddPrefix(request.files.digest, path))
    await Get(StepsRecord, RecordSteps(path, request.steps))
    raise_if_not_deterministic(request.steps)
    sizes = {f"{path}/{file.path}": file.size for file in request.files.entries}
    raise_if_too_large(f"The package {path}", sizes, str(root.pathlib_path / dist.relpath))
    await Get(FetchedFiles, FetchFiles(path, digest))
    return FinishedPackage(BuiltPackage(digest, tuple(map(BuiltPackageArtifact, sizes))))


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *fetched_files.rules(),
        *record.rules(),
    )

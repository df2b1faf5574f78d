"""All mistakes of a BUILD file's targets at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Iterator

from pants.base.specs import DirLiteralSpec, RawSpecs
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import InvalidTargetException, Target, UnexpandedTargets
from pants.util.strutil import bullet_list

from pants_enginewright.build_files.base import CheckedTarget
from pants_enginewright.build_files.fields import CheckedField


@dataclass(frozen=True)
class CheckBuildFile:
    folder: str


@dataclass(frozen=True)
class CheckedBuildFile:
    """No target of the folder has a problem."""


def problems_of(target: Target) -> Iterator[str]:
    """Each problem of each field, with the target it belongs to."""
    found = [
        problem
        for field in target.field_values.values()
        if isinstance(field, CheckedField)
        for problem in field.problems()
    ]
    between = target.problems() if isinstance(target, CheckedTarget) else ()
    for problem in [*found, *between]:
        yield f"`{target.alias}` target {target.address}: {problem}"


def raise_if_any(targets: Iterable[Target]) -> None:
    problems = [problem for target in targets for problem in problems_of(target)]
    if problems:
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        raise InvalidTargetException(f"{count} in BUILD files:\n{bullet_list(problems)}")


@rule
async def check_build_file(request: CheckBuildFile) -> CheckedBuildFile:
    targets = await Get(
        UnexpandedTargets,
        RawSpecs(
            dir_literals=(DirLiteralSpec(request.folder),),
            description_of_origin="the check of BUILD files",
        ),
    )
    raise_if_any(targets)
    return CheckedBuildFile()


def rules() -> Iterable[Any]:
    return collect_rules()

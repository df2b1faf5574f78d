"""Adds to an explanation what the files and BUILD files of this repository tell."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.base.build_root import BuildRoot
from pants.engine.fs import FileDigest
from pants.engine.internals.session import RunId
from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright.explain import contents
from pants_enginewright.explain.build_lines import find_line
from pants_enginewright.explain.contents import CompareContents, ComparedContents
from pants_enginewright.explain.explanation import Cause, Explanation


@dataclass(frozen=True)
class TellDetails:
    explanation: Explanation

    def __hash__(self) -> int:
        return hash(self.explanation.step.made.key)


@dataclass(frozen=True)
class TellCause:
    explanation: Explanation
    cause: Cause

    def __hash__(self) -> int:
        return hash((self.explanation.step.made.key, self.cause.difference.name))


@rule
async def tell_cause(request: TellCause, root: BuildRoot, run_id: RunId) -> Cause:
    del run_id  # BUILD files are read as they are now.
    cause, item = request.cause, request.explanation
    told = cause.difference
    if cause.made_by is not None or item.former is None:
        return cause
    made = item.step.made
    if told.part == "parameters":
        line = find_line(root.pathlib_path, made.address, told.name, told.after)
        return cause if line is None else dataclasses.replace(cause, details=line)
    before, after = item.former.made_from.sizes, made.made_from.sizes
    if told.part != "inputs" or told.before not in before or told.after not in after:
        return cause
    compared = await Get(
        ComparedContents,
        CompareContents(
            made.address,
            told.name,
            FileDigest(told.before, before[told.before]),
            FileDigest(told.after, after[told.after]),
        ),
    )
    return cause if compared.words is None else dataclasses.replace(cause, details=compared.words)


@rule
async def tell_details(request: TellDetails) -> Explanation:
    item = request.explanation
    causes: Tuple[Cause, ...] = await MultiGet(
        Get(Cause, TellCause(item, cause)) for cause in item.causes
    )
    return dataclasses.replace(item, causes=tuple(causes))


def rules() -> Iterable[Any]:
    return (*collect_rules(), *contents.rules())

"""What differs inside of a file, where the store still has the former one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Tuple

from pants.engine.fs import CreateDigest, Digest, DigestContents, FileDigest, FileEntry
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.explain.difference import leaves
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, File, Files

LARGEST_JSON = 1_000_000
SHOWN = 8


@dataclass(frozen=True)
class CompareContents:
    address: str
    name: str
    """Its ending says how to read it: `.json` or `.safetensors`."""
    before: FileDigest
    after: FileDigest


@dataclass(frozen=True)
class ComparedContents:
    words: Optional[str]
    """None where nothing can be told of such files, or the former one is gone."""


@dataclass(frozen=True)
class _Tensors:
    tensors: int
    changed: Tuple[str, ...]
    added: Tuple[str, ...]
    removed: Tuple[str, ...]


async def _fields(request: CompareContents) -> Optional[str]:
    entries = [FileEntry("0", request.before), FileEntry("1", request.after)]
    digest = await Get(Digest, CreateDigest(entries))
    files = await Get(DigestContents, Digest, digest)
    try:
        before, after = (dict(leaves(json.loads(file.content))) for file in files)
    except ValueError:
        return None
    return in_words(before, after)


def in_words(before: Any, after: Any) -> str:
    """The fields of two JSON objects, by their paths, that differ."""
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    told = [f"{name} {before.get(name)} -> {after.get(name)}" for name in names[:SHOWN]]
    if len(names) > SHOWN:
        told.append(f"and {len(names) - SHOWN} more")
    return "; ".join(told) or "white space or order, no value"


async def _tensors(request: CompareContents) -> str:
    sides: List[ActionInput] = []
    for role, digest in (("before", request.before), ("after", request.after)):
        file = File("weights.safetensors", digest.fingerprint, digest.serialized_bytes_length)
        files = await Get(Files, ComposeFiles((file,)))
        sides.append(ActionInput.of(role, files))
    step = ActionRequest.create("compare_weights", address=request.address, inputs=sides)
    said = (await Get(ActionResult, ActionRequest, step)).read(_Tensors)
    parts = [
        f"{len(names)}{f' of {said.tensors}' if what == 'changed' else ''} tensors {what}: "
        + ", ".join(names[:SHOWN])
        + (", ..." if len(names) > SHOWN else "")
        for what, names in (
            ("changed", said.changed),
            ("added", said.added),
            ("removed", said.removed),
        )
        if names
    ]
    return "; ".join(parts) or "the header, no tensor"


@rule(desc="Compare the contents of a file with former ones")
async def compare_contents(request: CompareContents) -> ComparedContents:
    try:
        if request.name.endswith(".safetensors"):
            return ComparedContents(await _tensors(request))
        if request.name.endswith(".json") and request.after.serialized_bytes_length < LARGEST_JSON:
            return ComparedContents(await _fields(request))
    except Exception as error:  # Pants has no kind of its own for what a store lacks
        if "was not present" not in str(error):
            raise
    return ComparedContents(None)


def rules() -> Iterable[Any]:
    return (*collect_rules(), *action.rules())

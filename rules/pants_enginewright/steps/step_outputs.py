"""What a step put out, and whether that is whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional
from urllib.parse import unquote

from pants.engine.fs import Digest, DigestContents, DigestSubset, PathGlobs, RemovePrefix
from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright.steps import files
from pants_enginewright.steps.files import ComposeFiles, File, Files, ListFiles

RESULT = "result.json"
DIGESTS = "digests.json"


@dataclass(frozen=True)
class ReadOutputs:
    digest: Digest
    """Of the process' outputs."""


@dataclass(frozen=True)
class StepOutputs:
    files: Files
    """At the paths that the step gave them; without `digests.json`."""
    result: Optional[str]
    """Text of `result.json`; None where there is none."""
    digests: Optional[str]
    """Text of `digests.json`, which has sha256 and size of each file; None where there is none."""

    def damage(self) -> Optional[str]:
        """Why this cannot be what a step put out that ended well; None where it can.

        An entry of an action cache is no blob that its hash protects: buildbox-casd, with its disk
        full, keeps an empty one, and gives it away as a result that ended well and has no files.
        And what was captured may be short, where a disk was full. A step says last of all which
        bytes it put out.
        """
        for name, text in ((RESULT, self.result), (DIGESTS, self.digests)):
            if text is None:
                return f"it has no {name}, which every step writes"
        assert self.digests is not None
        try:
            promised = _promised(self.digests)
        except (ValueError, KeyError, TypeError):
            return f"its {DIGESTS} is not what a step writes"
        found = self.files.by_path()
        problems = [
            *(_compare(file, found.get(path)) for path, file in sorted(promised.items())),
            *(f"the step wrote no {path}" for path in sorted(set(found) - set(promised))),
        ]
        return "\n".join(filter(None, problems)) or None


def _promised(digests: str) -> Dict[str, File]:
    files = json.loads(digests)["files"]
    return {path: File(path, file["sha256"], file["size"]) for path, file in files.items()}


def _compare(promised: File, found: Optional[File]) -> Optional[str]:
    if found is None:
        return f"it has no {promised.path}"
    if (found.sha256, found.size) == (promised.sha256, promised.size):
        return None
    return (
        f"{promised.path} is not what the step wrote\n"
        f"  expected  {promised.size} bytes, sha256 {promised.sha256}\n"
        f"  actual    {found.size} bytes, sha256 {found.sha256}"
    )


class DamagedResultError(Exception):
    """A step ended well, and what it put out cannot be what it made."""

    def __init__(self, address: str, action: str, damage: str) -> None:
        super().__init__(
            f"{address}: step `{action}` ended well, and its result is damaged: {damage}\n"
            f"A disk was full, or the file was changed behind the step. Nothing uses this result: "
            f"once the cause is gone, run again."
        )


def describe_damage(address: str, action: str, damage: str) -> str:
    """What to tell the user about a damaged result before the step runs again."""
    return (
        f"{address}: the result of step `{action}` is damaged: {damage}\n"
        f"The step runs once more, past all caches. A cache that keeps the damaged result makes "
        f"every run do so: docs/remote.md says how to get rid of it."
    )


def raise_if_damaged(address: str, action: str, outputs: StepOutputs) -> None:
    """Raise unless the step put out all that it says."""
    damage = outputs.damage()
    if damage is not None:
        raise DamagedResultError(address, action, damage)


def unflatten(outputs: Files) -> ComposeFiles:
    """The files at the paths that the step gave them, which `launch/start.py` made names of.

    Without their digests: once these are compared, nobody reads them.
    """
    files = (file.at(unquote(file.path)) for file in outputs.entries)
    return ComposeFiles(tuple(file for file in files if file.path != DIGESTS))


@rule
async def read_outputs(request: ReadOutputs) -> StepOutputs:
    outputs = await Get(Digest, RemovePrefix(request.digest, "outputs"))
    listed, subset = await MultiGet(
        Get(Files, ListFiles(outputs)),
        Get(Digest, DigestSubset(outputs, PathGlobs([RESULT, DIGESTS]))),
    )
    files = await Get(Files, ComposeFiles, unflatten(listed))
    contents = await Get(DigestContents, Digest, subset)
    # NB: bytes that are no text are damage too.
    texts = {file.path: file.content.decode(errors="replace") for file in contents}
    return StepOutputs(files, texts.get(RESULT), texts.get(DIGESTS))


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *files.rules(),
    )

"""What a step put out, and whether that is whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional
from urllib.parse import unquote

from pants.engine.fs import Digest, DigestContents, DigestSubset, PathGlobs, RemovePrefix
from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright.steps.files import ComposeFiles, Files, ListFiles

RESULT = "result.json"
BUILD_PLAN = "build_engine"


@dataclass(frozen=True)
class ReadOutputs:
    digest: Digest
    """Of the process' outputs."""


@dataclass(frozen=True)
class StepOutputs:
    files: Files
    """At the paths that the step gave them."""
    result: Optional[str]
    """Text of `result.json`; None where there is none."""

    def damage(self, action: str) -> Optional[str]:
        """Why this cannot be what a step `action` put out that ended well; None where it can.

        An entry of an action cache is no blob that its hash protects: buildbox-casd, with its disk
        full, keeps an empty one, and gives it away as a result that ended well and has no files.
        The step that builds a plan says which bytes it hashed before it wrote them.
        """
        if self.result is None:
            return f"it has no {RESULT}, which every step writes"
        if action != BUILD_PLAN:
            return None
        promised: Dict[str, Any] = json.loads(self.result)["plan"]
        plan = self.files.by_path().get(promised["path"])
        if plan is None:
            return f"it has no {promised['path']}"
        if (plan.sha256, plan.size) == (promised["sha256"], promised["size"]):
            return None
        return (
            f"{plan.path} is not what the step wrote\n"
            f"  expected  {promised['size']} bytes, sha256 {promised['sha256']}\n"
            f"  actual    {plan.size} bytes, sha256 {plan.sha256}"
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
    damage = outputs.damage(action)
    if damage is not None:
        raise DamagedResultError(address, action, damage)


def unflatten(outputs: Files) -> ComposeFiles:
    """The files at the paths that the step gave them, which `launch/start.py` made names of."""
    return ComposeFiles(tuple(file.at(unquote(file.path)) for file in outputs.entries))


@rule
async def read_outputs(request: ReadOutputs) -> StepOutputs:
    outputs = await Get(Digest, RemovePrefix(request.digest, "outputs"))
    listed, subset = await MultiGet(
        Get(Files, ListFiles(outputs)),
        Get(Digest, DigestSubset(outputs, PathGlobs([RESULT]))),
    )
    files = await Get(Files, ComposeFiles, unflatten(listed))
    texts = await Get(DigestContents, Digest, subset)
    return StepOutputs(files, texts[0].content.decode() if texts else None)


def rules() -> Iterable[Any]:
    return collect_rules()

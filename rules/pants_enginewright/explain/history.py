"""The steps that this repository has seen, and which of them each run had: in Pants' workdir.

    enginewright/steps/KEY.json     what a result was made from, and what it is
    enginewright/runs/NUMBER.json   action, address and key of each step of a run, in order

Nobody needs it for a build: without it `explain` knows no former results.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import (
    Collection,
    Dict,
    FrozenSet,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from pants_enginewright import canonical_json
from pants_enginewright.steps.made_from import MadeStep

FOLDER = "enginewright"
RUNS_KEPT = 100

StepName = Tuple[str, str, str]
"""Action, address and key."""


@dataclass(frozen=True)
class History:
    folder: Path

    @classmethod
    def of(cls, workdir: str) -> History:
        return cls(Path(workdir) / FOLDER)

    def add(self, made: Iterable[MadeStep], steps: Iterable[StepName]) -> None:
        """Keep a run that is at its end; raises `OSError` where the folder cannot be written."""
        for step in made:
            path = self._step(step.key)
            if not path.is_file():
                write_whole(path, step.text())
        names = [*steps]
        runs = self._runs()
        if not names or (runs and self._read_run(runs[-1]) == names):
            return
        number = int(runs[-1].stem) + 1 if runs else 1
        text = canonical_json.dumps([list(name) for name in names])
        write_whole(self.folder / "runs" / f"{number:08}.json", text)
        for old in runs[: max(0, len(runs) + 1 - RUNS_KEPT)]:
            old.unlink()
        if len(runs) + 1 > RUNS_KEPT:
            self._forget()

    def runs(self) -> List[List[StepName]]:
        """The steps of each run that is kept, the latest last."""
        return [self._read_run(path) for path in self._runs()]

    def step(self, key: str) -> Optional[MadeStep]:
        """None for one that was forgotten, or seen by a daemon before this folder was made."""
        try:
            return MadeStep.of(canonical_json.loads(self._step(key).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _step(self, key: str) -> Path:
        return self.folder / "steps" / f"{key}.json"

    def _runs(self) -> List[Path]:
        return sorted((self.folder / "runs").glob("*.json"))

    @staticmethod
    def _read_run(path: Path) -> List[StepName]:
        try:
            return [(a, b, c) for a, b, c in canonical_json.loads(path.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return []

    def _forget(self) -> None:
        kept = {key for run in self.runs() for _, _, key in run}
        for path in (self.folder / "steps").glob("*.json"):
            if path.stem not in kept:
                path.unlink()


def write_whole(path: Path, text: str) -> None:
    """Another run at the same time writes the same, or another number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


Latest = Mapping[Tuple[str, str], FrozenSet[str]]
"""Action and address -> keys in the last run that had this step of this target."""


def latest(runs: Iterable[Sequence[StepName]]) -> Latest:
    found: Dict[Tuple[str, str], FrozenSet[str]] = {}
    for run in runs:
        keys: Dict[Tuple[str, str], Set[str]] = {}
        for action, address, key in run:
            keys.setdefault((action, address), set()).add(key)
        found.update({name: frozenset(held) for name, held in keys.items()})
    return found


def before_last_change(
    runs: Sequence[Sequence[StepName]], steps: Collection[StepName]
) -> Tuple[Latest, int]:
    """What was known before the last change of these steps, and how many runs ago that was.

    0 where the last run had others; the beginning of the history where they never changed.
    """
    for ago in range(len(runs) + 1):
        known = latest(runs[: len(runs) - ago])
        if any(key not in known.get((action, address), ()) for action, address, key in steps):
            return known, ago
    return {}, len(runs)


def former_keys(runs: Iterable[Iterable[StepName]]) -> Dict[str, int]:
    """Each key, and the number of the latest run that had it."""
    return {key: number for number, run in enumerate(runs) for _, _, key in run}

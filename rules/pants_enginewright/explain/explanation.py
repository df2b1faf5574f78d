"""Why a step ran: what differs from the nearest former result, and where that began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from pants_enginewright.explain.difference import Difference, differences, leaves, nearest
from pants_enginewright.explain.history import History, former_keys
from pants_enginewright.steps.made_from import MadeStep

RAN = "ran"


@dataclass(frozen=True)
class SeenStep:
    """A step of this run."""

    made: MadeStep
    source: str
    """Where its result came from, in the words of the record."""
    is_new: bool
    """Whether the run before had none, or another one, for this step of this target."""

    @property
    def name(self) -> str:
        return f"{self.made.action} {self.made.address}"

    @property
    def is_told(self) -> bool:
        return self.is_new or self.source.startswith(RAN)


@dataclass(frozen=True)
class Cause:
    difference: Difference
    made_by: Optional[str] = None
    """The step of this run that put it out; None for what begins here."""
    details: str = ""
    """What differs inside of a file, or the line that says a field."""


@dataclass(frozen=True)
class Explanation:
    step: SeenStep
    former: Optional[MadeStep]
    """The nearest former result; None where none is known."""
    causes: Tuple[Cause, ...]
    """Empty where there is no former result."""


def explain(
    steps: Sequence[SeenStep], former: Mapping[str, Sequence[Tuple[int, MadeStep]]]
) -> List[Explanation]:
    """For each step that ran or is new.

    `former` has the results of each action, with the number of the latest run that had each.
    """
    told_of = [step for step in steps if step.is_told]
    known = {s.made.key: nearest(s.made, former.get(s.made.action, ())) for s in told_of}
    producers = _Producers.of(steps, known)
    explained = []
    for step in told_of:
        found = known[step.made.key]
        told = () if found is None else differences(found.made_from, step.made.made_from)
        causes = tuple(Cause(item, producers.of_value(item, step)) for item in told)
        explained.append(Explanation(step, found, causes))
    return explained


@dataclass(frozen=True)
class _Producers:
    """What the steps of a run put out, in files and in what they say."""

    files: Mapping[str, SeenStep]
    """By sha256."""
    said: Mapping[str, Sequence[Tuple[Any, Any, SeenStep]]]
    """Path in a result -> value in the former one, and now."""

    @classmethod
    def of(cls, steps: Sequence[SeenStep], known: Mapping[str, Optional[MadeStep]]) -> _Producers:
        files: Dict[str, SeenStep] = {}
        said: Dict[str, List[Tuple[Any, Any, SeenStep]]] = {}
        for step in steps:
            for sha in step.made.outputs.values():
                files.setdefault(sha, step)
            former = known.get(step.made.key)
            before = {} if former is None else dict(leaves(former.result))
            for path, value in leaves(step.made.result):
                if former is None or before.get(path) != value:
                    said.setdefault(path, []).append((before.get(path), value, step))
        return cls(files, said)

    def of_value(self, difference: Difference, reader: SeenStep) -> Optional[str]:
        """The other step that put the new value out; None for what begins with this step."""
        maker = None
        if isinstance(difference.after, str):
            maker = self.files.get(difference.after)
        if maker is None and difference.part == "parameters":
            maker = self._who_said(difference)
        return None if maker is None or maker is reader else maker.name

    def _who_said(self, difference: Difference) -> Optional[SeenStep]:
        parts = difference.name.split(".")
        for start in range(len(parts)):
            for before, after, step in self.said.get(".".join(parts[start:]), ()):
                if after == difference.after and before in (None, difference.before):
                    return step
        return None


def former_results(history: History) -> Dict[str, List[Tuple[int, MadeStep]]]:
    """By action, with the number of the latest run that had each."""
    found: Dict[str, List[Tuple[int, MadeStep]]] = {}
    for key, number in former_keys(history.runs()).items():
        step = history.step(key)
        if step is not None:
            found.setdefault(step.action, []).append((number, step))
    return found


def roots(explained: Iterable[Explanation]) -> List[Cause]:
    """All beginnings, in the order of the steps, each once.

    What several steps read is told by the first of them; a file by its path in the repository, if
    any step knows that.
    """
    found: Dict[str, Tuple[str, Cause]] = {}
    for item in explained:
        key = item.step.made.key
        for cause in item.causes:
            if cause.made_by is not None:
                continue
            told = cause.difference
            values = repr((told.before, told.after))
            reader, first = found.setdefault(values, (key, cause))
            if reader == key and first is not cause:
                found[values + told.name] = (key, cause)
            elif told.part == "parameters" and "/" in told.name:
                found[values] = (reader, cause)
    return [cause for _, cause in found.values()]

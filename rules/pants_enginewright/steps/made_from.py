"""All that a step's key is made of, by name, so that a difference can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Mapping

from pants.engine.engine_aware import EngineAwareReturnType
from pants.engine.rules import collect_rules, rule
from pants.util.frozendict import FrozenDict
from pants.util.logging import LogLevel

from pants_enginewright import canonical_json

MADE = "enginewright_made"
"""Name of the metadata of a workunit that says what a step was made from."""


@dataclass(frozen=True)
class MadeFrom:
    """What a key stands for. Two steps with equal ones have the same key."""

    module: str
    """Dotted name of the module of the library that runs."""
    parameters: Mapping[str, Any]
    inputs: Mapping[str, Mapping[str, str]]
    """Role -> path in the role's folder -> sha256."""
    modules: Mapping[str, str]
    """Path of each file of the library that the step sees -> sha256; the starting programs too."""
    wheels: Mapping[str, str]
    """File name of each wheel of its tool environment -> sha256."""
    python: str
    """Version of the interpreter."""
    attempt: int
    """2 where a step runs again to compare."""
    sizes: Mapping[str, int] = FrozenDict()
    """sha256 of each input -> bytes."""


@dataclass(frozen=True)
class MadeStep:
    """A result of a step, as the history keeps it."""

    action: str
    address: str
    key: str
    made_from: MadeFrom
    outputs: Mapping[str, str]
    """Path of each file that it put out -> sha256."""
    result: Any
    """What it says, as JSON."""
    milliseconds: int
    """That it took when it ran."""

    def document(self) -> Dict[str, Any]:
        return {
            "action": self.action,
            "address": self.address,
            "key": self.key,
            "made_from": {**vars(self.made_from), "sizes": {**self.made_from.sizes}},
            "milliseconds": self.milliseconds,
            "outputs": dict(self.outputs),
            "result": self.result,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> MadeStep:
        """Of what `document()` says; raises `KeyError` or `TypeError` for anything else."""
        made_from = MadeFrom(**document["made_from"])
        return cls(**{**document, "made_from": made_from})

    def text(self) -> str:
        return canonical_json.dumps(self.document())


@dataclass(frozen=True)
class NoteStep:
    """Asks that the history of this repository learns of a result."""

    step: MadeStep

    def __hash__(self) -> int:
        return hash(self.step.key)


@dataclass(frozen=True)
class NotedStep(EngineAwareReturnType):
    """A workunit carries it to `goals/record.py` when a result is new to this daemon."""

    text: str

    def metadata(self) -> Dict[str, Any]:
        return {MADE: self.text}

    def level(self) -> LogLevel:
        return LogLevel.DEBUG


@rule
def note_step(request: NoteStep) -> NotedStep:
    return NotedStep(request.step.text())


def rules() -> Iterable[Any]:
    return collect_rules()

"""Where the result of each step came from, and the summary that a run ends with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple

from pants.engine.engine_aware import EngineAwareReturnType
from pants.engine.internals.session import RunId
from pants.engine.rules import collect_rules, rule
from pants.util.frozendict import FrozenDict
from pants.util.logging import LogLevel

from pants_enginewright.steps.action import ActionResult

METADATA = "enginewright_steps"


@dataclass(frozen=True)
class RecordSteps:
    """Asks that the steps behind one result of a goal are recorded."""

    root: str
    """Names the result."""
    steps: Tuple[ActionResult, ...]
    runs: Tuple[Tuple[int, Optional[int]], ...] = field(init=False)
    """For each step the run that its result comes from, and how many milliseconds it took.

    Results are equal whenever they were made, so that a hit looks like what it stands for. Without
    this a step that ran again would be answered with the record of the run before.
    """

    def __post_init__(self) -> None:
        runs = ((s.metadata.source_run_id, s.metadata.total_elapsed_ms) for s in self.steps)
        object.__setattr__(self, "runs", tuple(runs))


@dataclass(frozen=True)
class StepsRecord(EngineAwareReturnType):
    """The steps of this run behind one result; a workunit carries them to `goals/record.py`.

    All of them in one workunit: while Pants finds out that a result of the run before is out of
    date, it asks for that one's steps again, and the last workunit of a root counts.
    """

    root: str
    steps: Tuple[FrozenDict[str, Any], ...]

    def metadata(self) -> Dict[str, Any]:
        return {METADATA: {"root": self.root, "steps": [plain(step) for step in self.steps]}}

    def level(self) -> LogLevel:
        return LogLevel.DEBUG


def plain(step: FrozenDict[str, Any]) -> Dict[str, Any]:
    """What JSON can say."""
    return {
        name: dict(value) if isinstance(value, FrozenDict) else value
        for name, value in step.items()
    }


class NotDeterministicError(Exception):
    """Steps put out something else when they ran again."""

    def __init__(self, steps: Iterable[ActionResult]) -> None:
        super().__init__(
            "\n".join(
                f"{step.action} {step.address} is not deterministic: the same key gave other "
                f"results.\n"
                f"  key          {step.key}\n"
                f"  in a cache   {step.files.digest.fingerprint}\n"
                f"  made here    {step.repeated}"
                for step in steps
            )
        )


def raise_if_not_deterministic(steps: Iterable[ActionResult]) -> None:
    """Name all steps that were repeated with another result."""
    other = {s for s in steps if s.repeated not in (None, s.files.digest.fingerprint)}
    if other:
        raise NotDeterministicError(sorted(other, key=lambda step: (step.action, step.address)))


@dataclass(frozen=True)
class _Measured:
    """Of a step that judges an engine's accuracy; other steps have no `total`."""

    total: Any = None


def read_measured(result: ActionResult) -> FrozenDict[str, float]:
    """The numbers that a test measured over all its runs, by name."""
    # Most results have none, and the record of every run asks.
    if '"total"' not in result.result:
        return FrozenDict()
    total = result.read(_Measured).total
    numbers = total.items() if isinstance(total, Mapping) else ()
    return FrozenDict({name: one for name, one in numbers if type(one) in (int, float)})


def describe_step(result: ActionResult, run_id: RunId) -> FrozenDict[str, Any]:
    """A step in the record; `source` is `ran`, `hit_locally`, `hit_remotely` or `memoized`."""
    metadata = result.metadata
    measured = read_measured(result)
    return FrozenDict(
        action=result.action,
        address=result.address,
        key=result.key,
        source=metadata.source(run_id).value,
        remote=metadata.execution_environment.remote_execution,
        milliseconds=metadata.total_elapsed_ms,
        bytes=sum(file.size for file in result.files.entries),
        outputs=result.files.digest.fingerprint,
        **({} if result.repeated is None else {"repeated": result.repeated}),
        **({"warnings": result.warnings} if result.warnings else {}),
        **({"measured": measured} if measured else {}),
    )


@rule
def record_steps(request: RecordSteps, run_id: RunId) -> StepsRecord:
    return StepsRecord(
        request.root, tuple(describe_step(result, run_id) for result in request.steps)
    )


def rules() -> Iterable[Any]:
    return collect_rules()

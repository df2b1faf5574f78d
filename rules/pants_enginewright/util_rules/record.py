"""Where the result of each step came from, and the summary that a run ends with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional

from pants.engine.engine_aware import EngineAwareReturnType
from pants.engine.internals.session import RunId
from pants.engine.rules import collect_rules, rule
from pants.util.logging import LogLevel

from pants_enginewright.util_rules.action import ActionResult

METADATA = "enginewright_step"


@dataclass(frozen=True)
class StepRecord(EngineAwareReturnType):
    """One step of this run; a workunit carries it to `goals/record.py`."""

    action: str
    address: str
    key: str
    source: str
    """`ran`, `hit_locally`, `hit_remotely` or `memoized`."""
    remote: bool
    """Whether the step's environment executes remotely."""
    milliseconds: Optional[int]
    """How long the step took where it ran."""
    bytes: int
    outputs: str
    """sha256 of the tree of what it put out."""

    def metadata(self) -> Dict[str, Any]:
        return {METADATA: dict(self.__dict__)}

    def level(self) -> LogLevel:
        return LogLevel.DEBUG


@rule
def record_step(result: ActionResult, run_id: RunId) -> StepRecord:
    metadata = result.metadata
    return StepRecord(
        result.action,
        result.address,
        result.key,
        metadata.source(run_id).value,
        metadata.execution_environment.remote_execution,
        metadata.total_elapsed_ms,
        sum(file.size for file in result.files.entries),
        result.files.digest.fingerprint,
    )


def rules() -> Iterable[Any]:
    return collect_rules()

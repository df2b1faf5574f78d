"""The build record of a run, its one-line summary, and the progress of long steps.

Pants reports workunits to a callback while it works. Those of `steps/record.py` say where the
result of each step came from; a step that runs now says how far it is in a file of a named cache.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Tuple

from pants.engine.internals.scheduler import Workunit
from pants.engine.rules import collect_rules, rule
from pants.engine.streaming_workunit_handler import (
    StreamingWorkunitContext,
    WorkunitsCallback,
    WorkunitsCallbackFactory,
    WorkunitsCallbackFactoryRequest,
)
from pants.engine.unions import UnionRule
from pants.option.global_options import GlobalOptions

from pants_enginewright import canonical_json
from pants_enginewright.explain.history import History
from pants_enginewright.steps.hermetic_process import PROGRESS
from pants_enginewright.steps.made_from import MADE, MadeStep
from pants_enginewright.steps.record import METADATA
from pants_enginewright.subsystems import EnginewrightSubsystem

logger = logging.getLogger(__name__)

PROGRESS_INTERVAL = 2.0
RAN = "ran"


def describe_source(step: Dict[str, Any]) -> str:
    """Where a step's result came from, in the words of the record."""
    if step["source"] == RAN:
        return "ran remotely" if step["remote"] else "ran here"
    return {
        "hit_locally": "local cache",
        "hit_remotely": "remote cache",
        "memoized": "memory",
    }[step["source"]]


def summarize(steps: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Totals of a run: counts by source, seconds spent and saved, bytes put out."""
    by_source: Dict[str, int] = {}
    spent = saved = 0
    for step in steps:
        by_source[step["from"]] = by_source.get(step["from"], 0) + 1
        milliseconds = step["milliseconds"] or 0
        if step["from"].startswith("ran"):
            spent += milliseconds
        else:
            saved += milliseconds
    return {
        "steps": len(steps),
        "from": by_source,
        "seconds_spent": spent / 1000,
        "seconds_saved": saved / 1000,
        "bytes": sum(step["bytes"] for step in steps),
    }


def summary_line(totals: Dict[str, Any]) -> str:
    built = sum(count for source, count in totals["from"].items() if source.startswith("ran"))
    cached = totals["steps"] - built
    steps = "1 step" if totals["steps"] == 1 else f"{totals['steps']} steps"
    return f"{steps}: {built} built, {cached} from cache, {totals['seconds_saved']:.0f} s saved"


def warning_lines(steps: List[Dict[str, Any]]) -> List[str]:
    """What the steps warn of; from a cache or not, since nobody reads a result.json for it."""
    return [
        f"{step['action']} {step['address']}: {warning}"
        for step in steps
        for warning in step.get("warnings", ())
    ]


def write_whole(path: str, text: str) -> None:
    """Write a file, or say why not and leave none: half a record is none."""
    part = f"{path}.part"
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(part, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(part, path)
    except OSError as error:
        logger.error(f"The build record could not be written to {path}: {error.strerror}")
        for leftover in (part, path):
            if os.path.isfile(leftover):
                os.unlink(leftover)


@dataclass
class RecordCallback(WorkunitsCallback):
    path: Optional[str]
    progress_folder: str
    history: History
    started: float = field(default_factory=time.time)
    running: Dict[str, str] = field(default_factory=dict)
    """Step by the name of its progress file."""
    shown: Dict[str, str] = field(default_factory=dict)
    last_look: float = 0.0
    results: Dict[str, Tuple[Tuple[int, int], List[Dict[str, Any]]]] = field(default_factory=dict)
    """By root: when the workunit started, and the steps that it names."""
    made: List[MadeStep] = field(default_factory=list)

    @property
    def can_finish_async(self) -> bool:
        return False

    def __call__(
        self,
        *,
        started_workunits: Tuple[Workunit, ...],
        completed_workunits: Tuple[Workunit, ...],
        finished: bool,
        context: StreamingWorkunitContext,
    ) -> None:
        del context
        for workunit in started_workunits:
            progress = workunit.get("metadata", {}).get(PROGRESS)
            if progress is not None:
                self.running[progress["file"]] = progress["step"]
        for workunit in completed_workunits:
            record = workunit.get("metadata", {}).get(METADATA)
            made = workunit.get("metadata", {}).get(MADE)
            if made is not None:
                self.made.append(MadeStep.of(canonical_json.loads(made)))
            if record is not None:
                self._add(record, (workunit["start_secs"], workunit["start_nanos"]))
        if finished:
            self._finish()
        elif time.time() - self.last_look >= PROGRESS_INTERVAL:
            self.last_look = time.time()
            self._show_progress()

    def _add(self, record: Dict[str, Any], started: Tuple[int, int]) -> None:
        known = self.results.get(record["root"])
        if known is None or known[0] <= started:
            self.results[record["root"]] = (started, record["steps"])

    def _steps(self) -> List[Dict[str, Any]]:
        steps = {}
        for _, named in self.results.values():
            for step in named:
                described = {**step, "from": describe_source(step)}
                del described["source"], described["remote"]
                steps[(step["action"], step["address"], step["key"])] = described
        return [steps[name] for name in sorted(steps)]

    def _finish(self) -> None:
        steps = self._steps()
        totals = summarize(steps)
        if self.path:
            write_whole(self.path, canonical_json.dumps({"steps": steps, "totals": totals}))
        self._keep(steps)
        for warning in warning_lines(steps):
            logger.warning(warning)
        if steps:
            logger.info(summary_line(totals))

    def _keep(self, steps: List[Dict[str, Any]]) -> None:
        try:
            self.history.add(self.made, [(s["action"], s["address"], s["key"]) for s in steps])
        except OSError as error:
            logger.warning(f"The history for `explain` could not be kept: {error}")

    def _show_progress(self) -> None:
        for name, step in self.running.items():
            path = os.path.join(self.progress_folder, name)
            # A file from before this run is another run's last word on the same step.
            if not os.path.isfile(path) or os.stat(path).st_mtime < self.started:
                continue
            with open(path, encoding="utf-8", errors="replace") as stream:
                text = stream.read().strip()
            if text and self.shown.get(name) != text:
                self.shown[name] = text
                logger.info(f"{step}: {text}")


class RecordCallbackFactoryRequest(WorkunitsCallbackFactoryRequest):
    """Asks for the callback of a run."""


@rule
def make_record_callback(
    _: RecordCallbackFactoryRequest,
    subsystem: EnginewrightSubsystem,
    global_options: GlobalOptions,
) -> WorkunitsCallbackFactory:
    folder = os.path.join(global_options.named_caches_dir, PROGRESS)
    history = History.of(global_options.pants_workdir)
    return WorkunitsCallbackFactory(lambda: RecordCallback(subsystem.record, folder, history))


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        UnionRule(WorkunitsCallbackFactoryRequest, RecordCallbackFactoryRequest),
    )

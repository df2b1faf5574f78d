"""Shows the phases of a build; the builder calls it some thousand times, so it must be cheap.

Each call also ends a section of the builder's heap (`deterministic_process`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from enginewright import progress
from enginewright.products.tensorrt import deterministic_process

_STEP = "Building"


class PhaseTracker:
    """Turns the builder's nested phases into lines such as `Optimizing graph 3/30`.

    Reports at most once an `interval` (seconds of `clock`), and the outermost phase always.
    """

    def __init__(
        self,
        report: Callable[[str], None],
        clock: Callable[[], float],
        interval: float = 0.25,
    ) -> None:
        self._report, self._clock, self._interval = report, clock, interval
        self._steps: dict[str, int] = {}
        self._last = float("-inf")
        self._lock = threading.Lock()

    def start(self, phase: str, steps: int) -> None:
        with self._lock:
            self._steps[phase] = steps
            self._say(phase, 0)

    def step(self, phase: str, step: int) -> None:
        with self._lock:
            self._say(phase, step + 1)

    def _say(self, phase: str, done: int) -> None:
        now = self._clock()
        if now - self._last >= self._interval:
            self._last = now
            # A phase may have more steps than it announced.
            self._report(f"{phase} {done}/{max(done, self._steps.get(phase, done))}")


def report_progress(message: str) -> None:
    progress.report(_STEP, message)


def monitor(trt: Any, tracker: PhaseTracker) -> Any:
    """The object that the library wants; never asks it to stop."""

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:  # noqa: ARG002
            deterministic_process.align_heap()
            tracker.start(phase_name, num_steps)

        def step_complete(self, phase_name: str, step: int) -> bool:
            deterministic_process.align_heap()
            tracker.step(phase_name, step)
            return True

        def phase_finish(self, phase_name: str) -> None:  # noqa: ARG002
            deterministic_process.align_heap()

    return Monitor()

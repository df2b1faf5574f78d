from __future__ import annotations

from enginewright.products.tensorrt.progress_monitor import PhaseTracker


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_reports_phase_and_steps_at_most_once_an_interval() -> None:
    lines: list[str] = []
    clock = Clock()
    tracker = PhaseTracker(lines.append, clock, interval=0.625)
    tracker.start("Optimizing graph", 30)
    for step in range(30):
        clock.now += 0.125
        tracker.step("Optimizing graph", step)
    assert lines == [
        "Optimizing graph 0/30",
        "Optimizing graph 5/30",
        "Optimizing graph 10/30",
        "Optimizing graph 15/30",
        "Optimizing graph 20/30",
        "Optimizing graph 25/30",
        "Optimizing graph 30/30",
    ]


def test_more_steps_than_announced_and_unknown_phases_still_read_well() -> None:
    lines: list[str] = []
    tracker = PhaseTracker(lines.append, Clock(), interval=0)
    tracker.start("Timing", 1)
    tracker.step("Timing", 4)
    tracker.step("Unannounced", 0)
    assert lines == ["Timing 0/1", "Timing 5/5", "Unannounced 1/1"]

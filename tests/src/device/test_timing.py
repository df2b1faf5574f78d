"""What of a generation is timed, and what the numbers are made of."""

from __future__ import annotations

import itertools

import pytest

from enginewright.device import timing
from enginewright.device.request import SpeedRequest
from enginewright.device.timing import Speed, measure_speed
from enginewright.engines.backend import Array

ASKED = SpeedRequest(batches=(3,), prompt_tokens=5, new_tokens=10, warmup=2, repeats=3)


def test_the_median_of_the_generations_that_count(monkeypatch: pytest.MonkeyPatch):
    calls: list[tuple[tuple[int, ...], int]] = []
    now = 0.0
    # Two that warm up, three first tokens, three whole generations.
    durations = iter([90.0, 80.0, 0.5, 0.1, 0.2, 4.0, 2.0, 9.0])

    def generate(prompts: Array, count: int) -> None:
        nonlocal now
        calls.append((prompts.shape, count))
        now += next(durations)

    monkeypatch.setattr(timing.time, "perf_counter", lambda: now)
    speed = measure_speed(generate, 3, 100, ASKED)
    assert calls == [((3, 5), 10)] * 2 + [((3, 5), 1)] * 3 + [((3, 5), 10)] * 3
    assert speed == Speed(
        3, pytest.approx(0.2), (pytest.approx(4.0), pytest.approx(2.0), pytest.approx(9.0)), 7.5
    )


def test_prompts_are_the_same_in_every_run_and_within_the_vocabulary():
    seen: list[list[list[int]]] = []
    for _ in range(2):
        measure_speed(lambda prompts, _: seen.append(prompts.tolist()), 2, 7, ASKED)
    assert all(prompts == seen[0] for prompts in seen)
    assert {*itertools.chain(*seen[0])} <= {1, 2, 3, 4, 5, 6}

from __future__ import annotations

import pytest

from enginewright.products.tensorrt.builder_log import BuilderLog, normalize


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("kernel at 0x7f3a00ff failed", "kernel at 0x… failed"),
        ("took 0.069383ms to assign", "took … ms to assign"),
        ("completed in 0.0709899 seconds.", "completed in … seconds."),
        ("ModelImporter.cpp:1071: Make sure", "Make sure"),
        ("32 steps, 5 tensors", "32 steps, 5 tensors"),
    ],
)
def test_what_differs_between_runs_is_left_out(message: str, expected: str) -> None:
    assert normalize(message) == expected


def test_messages_are_kept_once_and_warnings_are_sorted() -> None:
    log = BuilderLog()
    for message in ("b at 0x1", "a", "b at 0x2"):
        log.add_warning(message)
    for message in ("second", "first", "second"):
        log.add_error(message)
    assert log.warnings == ("a", "b at 0x…")
    assert log.errors == ("second", "first")


def test_the_harmless_complaint_of_the_library_is_no_error() -> None:
    log = BuilderLog()
    log.add_error("Thread context has not been set! Using global log stream.")
    assert log.errors == ()


def test_what_says_nothing_of_the_engine_is_no_warning() -> None:
    log = BuilderLog()
    log.add_warning(
        "ImporterContext.hpp:501: A node named node_of_y already exists, the output tensors of "
        "this new instance will not be queryable."
    )
    log.add_warning("ModelImporter.cpp:459: Make sure input input_ids has Int64 binding.")
    log.add_warning("Make sure input input_ids has another binding.")
    assert log.warnings == ("Make sure input input_ids has another binding.",)

from __future__ import annotations

from pathlib import Path

import pytest

from enginewright.errors import InputError
from enginewright.validation.held_out_text import consecutive, lines, read, spread


@pytest.mark.parametrize(
    ("length", "count", "expected"),
    [
        (4, 1, ((0, 1, 2, 3),)),
        (4, 3, ((0, 1, 2, 3), (3, 4, 5, 6), (6, 7, 8, 9))),
        (10, 2, (tuple(range(10)),)),
        (9, 3, (tuple(range(9)), tuple(range(1, 10)))),
    ],
)
def test_windows_reach_from_the_first_to_the_last_token_and_are_there_once(
    length: int, count: int, expected: tuple[tuple[int, ...], ...]
) -> None:
    assert spread(range(10), length, count) == expected


def test_a_text_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        spread(range(10), 11, 1)
    [problem] = caught.value.problems
    assert (problem.expected, problem.actual) == ("at least 11 tokens", "10 tokens")


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (9, ((0, 1, 2, 3, 4), (4, 5, 6, 7, 8))),
        (10, ((0, 1, 2, 3, 4), (4, 5, 6, 7, 8), (8, 9))),
        (3, ((0, 1, 2),)),
    ],
)
def test_consecutive_windows_predict_each_token_but_the_first_once(
    count: int, expected: tuple[tuple[int, ...], ...]
) -> None:
    windows = consecutive(range(count), 4)
    assert windows == expected
    assert [token for window in windows for token in window[1:]] == [*range(1, count)]


def test_lines_that_are_not_blank() -> None:
    assert lines("one\n\n  two \n \nthree") == ("one", "two", "three")


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "heldout.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.problems[0].where == str(path)

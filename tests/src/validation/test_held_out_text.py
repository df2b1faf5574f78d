from __future__ import annotations

from pathlib import Path

import pytest

from enginewright.errors import InputError
from enginewright.validation.held_out_text import read, sentences, windows


@pytest.mark.parametrize(
    ("length", "count", "expected"),
    [
        (4, 1, ((0, 1, 2, 3),)),
        (4, 3, ((0, 1, 2, 3), (3, 4, 5, 6), (6, 7, 8, 9))),
        (10, 2, (tuple(range(10)), tuple(range(10)))),
    ],
)
def test_windows_reach_from_the_first_to_the_last_token(
    length: int, count: int, expected: tuple[tuple[int, ...], ...]
) -> None:
    assert windows(range(10), length, count) == expected


def test_a_text_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        windows(range(10), 11, 1)
    [problem] = caught.value.problems
    assert (problem.expected, problem.actual) == ("at least 11 tokens", "10 tokens")


def test_sentences_are_lines_that_are_not_blank() -> None:
    assert sentences("one\n\n  two \n \nthree", 2) == ("one", "two")


def test_too_few_sentences_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        sentences("one\n\ntwo\n", 3)
    [problem] = caught.value.problems
    assert (problem.expected, problem.actual) == ("3 sentences, one a line", "2")


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "heldout.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.problems[0].where == str(path)

"""The text of an error with many problems of one kind stays short; the problems stay complete."""

from __future__ import annotations

from enginewright.errors import InputError, Problem


def test_the_first_ten_of_a_kind_are_shown_and_the_others_counted() -> None:
    problems = [
        Problem("the weights lack a tensor", f"layer {number}", fix="list all files")
        for number in range(13)
    ]
    problems.insert(3, Problem("a field of the config is wrong", "config.json, `vocab_size`"))
    error = InputError(problems)
    assert error.problems == tuple(problems)
    lines = str(error).splitlines()
    assert [line for line in lines if "layer" in line] == [
        *(f"  where:    layer {number}" for number in range(10)),
        "the weights lack a tensor: 3 more, the last in layer 12",
    ]
    assert "  where:    config.json, `vocab_size`" in lines


def test_ten_of_a_kind_are_all_shown() -> None:
    text = str(InputError([Problem("wrong", str(number)) for number in range(10)]))
    assert text.count("where") == 10
    assert "more" not in text

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from enginewright.errors import InputError
from enginewright.validation.comparison import (
    Comparison,
    cosine_similarity,
    negative_log_likelihood,
)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1.0, 0.0], [2.0, 0.0], 1.0),
        ([1.0, 0.0], [0.0, 3.0], 0.0),
        ([1.0, 0.0], [-5.0, 0.0], -1.0),
        ([3.0, 4.0], [4.0, 3.0], 0.96),
        ([0.0, 0.0], [0.0, 0.0], 1.0),
        ([0.0, 0.0], [1.0, 0.0], 0.0),
        ([1e300, 1e300], [1e-300, 1e-300], 1.0),
    ],
)
def test_cosine_of_a_row(first: list[float], second: list[float], expected: float) -> None:
    assert cosine_similarity(np.array([first]), np.array([second]))[0] == pytest.approx(expected)


ROWS = arrays.arrays(np.float32, (3, 5), elements=st.floats(-(2.0**60), 2.0**60, width=32))


@given(first=ROWS, second=ROWS)
def test_cosine_is_symmetric_and_between_minus_one_and_one(
    first: np.ndarray, second: np.ndarray
) -> None:
    cosine = cosine_similarity(first, second)
    assert np.all(np.abs(cosine) <= 1 + 1e-12)
    assert np.allclose(cosine, cosine_similarity(second, first), atol=1e-12)
    assert np.allclose(cosine_similarity(first, first), 1.0)


def test_loss_is_that_of_softmax() -> None:
    logits = np.array([[0.0, 0.0], [math.log(3.0), 0.0], [5000.0, 0.0]], np.float32)
    loss = negative_log_likelihood(logits, np.array([0, 0, 1]))
    assert loss == pytest.approx([math.log(2), math.log(4 / 3), 5000.0])


def test_numbers_of_two_rows() -> None:
    comparison = Comparison()
    comparison.add(np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[4.0, 3.0], [1.0, 0.0]]))
    assert comparison.to_json() == {
        "rows": 2,
        "nan_count": 0,
        "inf_count": 0,
        "reference_nonfinite_count": 0,
        "mean_cosine_similarity": pytest.approx(0.98),
        "worst_cosine_similarity": pytest.approx(0.96),
        "max_absolute_error": 1.0,
        "max_relative_error": 0.25,
        "relative_error": pytest.approx(math.sqrt(2 / 26)),
    }


def test_perplexity_is_the_exponential_of_the_mean_loss() -> None:
    comparison = Comparison()
    uniform = np.zeros((2, 4))
    sure = np.array([[math.log(3.0), 0.0, 0.0, 0.0]] * 2)
    comparison.add_predictions(uniform, sure, np.array([0, 0]))
    numbers = comparison.to_json()
    assert numbers["reference_perplexity"] == pytest.approx(4.0)
    assert numbers["perplexity"] == pytest.approx(2.0)
    assert numbers["perplexity_increase"] == pytest.approx(-0.5)


def test_agreement_is_of_the_first_choices() -> None:
    comparison = Comparison()
    reference = np.array([[3.0, 4.0], [1.0, 0.0]])
    comparison.add_predictions(reference, reference[:, ::-1] * [[1], [-1]], np.array([0, 0]))
    assert comparison.to_json()["top1_agreement"] == 0.5
    comparison.add_choices(np.array([4, 5]), np.array([4, 5]))
    assert comparison.to_json()["top1_agreement"] == 0.75


def test_outputs_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        Comparison().add(np.zeros((2, 5)), np.zeros((2, 6)))
    [problem] = caught.value.problems
    assert (problem.expected, problem.actual) == ("[2, 5]", "[2, 6]")


def test_many_rows_are_taken_in_parts() -> None:
    rows = np.random.default_rng(1).normal(size=(150, 3))
    whole, parts = Comparison(), Comparison()
    whole.add(rows, rows + 1)
    for row in rows:
        parts.add(row[None], row[None] + 1)
    assert whole.to_json() == pytest.approx(parts.to_json())
    assert whole.rows == 150


def test_rows_that_are_not_finite_are_counted_and_left_out() -> None:
    comparison = Comparison()
    reference = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [np.nan, 1.0]])
    candidate = np.array([[1.0, 2.0], [np.nan, np.nan], [np.inf, 0.0], [1.0, 1.0]])
    comparison.add(reference, candidate)
    comparison.add_predictions(reference, candidate, np.array([0, 0, 0, 0]))
    numbers = comparison.to_json()
    assert (numbers["rows"], numbers["nan_count"], numbers["inf_count"]) == (4, 2, 1)
    assert numbers["reference_nonfinite_count"] == 1
    assert numbers["mean_cosine_similarity"] == pytest.approx(1.0)
    assert numbers["max_absolute_error"] == 0.0
    assert comparison.predictions == 1


def test_no_finite_row_gives_no_number() -> None:
    comparison = Comparison()
    comparison.add(np.array([[1.0]]), np.array([[np.nan]]))
    numbers = comparison.to_json()
    assert numbers["mean_cosine_similarity"] is None
    assert numbers["max_absolute_error"] is None
    assert "top1_agreement" not in numbers


def test_merging_adds_sums_and_keeps_the_worst() -> None:
    parts = [Comparison(), Comparison()]
    parts[0].add(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]))
    parts[1].add(np.array([[3.0, 4.0]]), np.array([[4.0, 3.0]]))
    for part in parts:
        part.add_predictions(np.zeros((1, 2)), np.zeros((1, 2)), np.array([1]))
    whole = Comparison()
    whole.merge(parts[0])
    whole.merge(parts[1], with_predictions=False)
    numbers = whole.to_json()
    assert numbers["rows"] == 2
    assert numbers["mean_cosine_similarity"] == pytest.approx(0.98)
    assert numbers["worst_cosine_similarity"] == pytest.approx(0.96)
    assert whole.predictions == 1

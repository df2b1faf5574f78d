from __future__ import annotations

from typing import Any

import pytest

from enginewright.errors import InputError
from enginewright.validation.judgement import Thresholds, judge

TOTAL: dict[str, Any] = {
    "nan_count": 0,
    "inf_count": 0,
    "reference_nonfinite_count": 0,
    "mean_cosine_similarity": 0.9995,
    "worst_cosine_similarity": 0.98,
    "max_absolute_error": 0.25,
    "top1_agreement": 0.97,
    "perplexity": 20.2,
    "perplexity_increase": 0.01,
}


def missed(thresholds: dict[str, float], **changes: Any) -> list[tuple[str, str, str]]:
    verdicts = judge({"total": {**TOTAL, **changes}}, Thresholds.decode(thresholds))
    problems = [verdict.problem() for verdict in verdicts if not verdict.passed]
    return [(problem.what, problem.actual, problem.expected) for problem in problems]


def test_bounds_that_are_just_met_pass() -> None:
    bounds = {
        "min_cosine_similarity": 0.9995,
        "min_worst_cosine_similarity": 0.98,
        "max_absolute_error": 0.25,
        "min_top1_agreement": 0.97,
        "max_perplexity_increase": 0.01,
    }
    assert missed(bounds) == []


def test_each_missed_bound_names_both_numbers() -> None:
    assert missed({"min_cosine_similarity": 0.9999, "max_perplexity_increase": 0.005}) == [
        ("`mean_cosine_similarity` missed its bound", "0.9995", ">= 0.9999"),
        ("`perplexity_increase` missed its bound", "0.01", "<= 0.005"),
    ]


@pytest.mark.parametrize("name", ["nan_count", "inf_count", "reference_nonfinite_count"])
def test_nan_and_infinity_fail_without_any_threshold(name: str) -> None:
    assert missed({}, **{name: 3}) == [(f"`{name}` missed its bound", "3", "<= 0")]


def test_a_number_that_was_not_measured_misses_its_bound() -> None:
    assert missed({"min_cosine_similarity": 0.5}, mean_cosine_similarity=None) == [
        ("`mean_cosine_similarity` missed its bound", "not measured", ">= 0.5")
    ]


def test_a_bound_of_none_is_no_bound() -> None:
    assert len(judge({"total": TOTAL}, Thresholds(max_absolute_error=None))) == 3


def test_wrong_thresholds_are_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Thresholds.decode(
            {
                "min_cosine_similarity": 99.9,
                "max_perplexity_increase": -0.1,
                "min_top1_agreement": "high",
                "max_absolute_error": float("nan"),
                "min_cosine": 0.9,
            }
        )
    assert [problem.where for problem in caught.value.problems] == [
        "max_absolute_error",
        "max_perplexity_increase",
        "min_cosine",
        "min_cosine_similarity",
        "min_top1_agreement",
    ]

from __future__ import annotations

from typing import Any

import pytest

from enginewright.errors import InputError
from enginewright.validation.judgement import Thresholds, contradictions, judge

TOTAL: dict[str, Any] = {
    "rows": 500,
    "nan_count": 0,
    "inf_count": 0,
    "reference_nonfinite_count": 0,
    "mean_cosine_similarity": 0.9995,
    "worst_cosine_similarity": 0.98,
    "max_absolute_error": 0.25,
    "max_relative_error": 0.05,
    "top1_agreement": 0.97,
    "perplexity": 20.2,
    "perplexity_increase": 0.01,
}


def measurements(*runs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "total": {**TOTAL, **changes},
        "runs": [{"name": "rows", **TOTAL, **run} for run in runs],
    }


def missed(
    thresholds: dict[str, float], *runs: dict[str, Any], **changes: Any
) -> list[tuple[str, str, str]]:
    verdicts = judge(measurements(*runs, **changes), Thresholds.decode(thresholds))
    problems = [verdict.problem() for verdict in verdicts if not verdict.passed]
    return [(problem.what, problem.actual, problem.expected) for problem in problems]


def test_bounds_that_are_just_met_pass() -> None:
    bounds = {
        "min_cosine_similarity": 0.9995,
        "min_worst_cosine_similarity": 0.98,
        "max_absolute_error": 0.25,
        "max_relative_error": 0.05,
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


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"top1_agreement": 0.89}, ("`top1_agreement`", "0.89", ">= 0.9, the default")),
        ({"max_relative_error": 0.2}, ("`max_relative_error`", "0.2", "<= 0.1, the default")),
        ({"perplexity_increase": 0.3}, ("`perplexity_increase`", "0.3", "<= 0.1, the default")),
    ],
)
def test_a_cosine_has_companions(changes: dict[str, float], expected: tuple[str, ...]) -> None:
    name, *rest = expected
    found = missed({"min_cosine_similarity": 0.99}, **changes)
    assert found == [(f"{name} missed its bound", *rest)]


def test_a_companion_can_be_set() -> None:
    assert missed({"min_top1_agreement": 0.5}, top1_agreement=0.6) == []


def test_embeddings_have_no_perplexity_to_miss() -> None:
    total = {name: value for name, value in TOTAL.items() if "perplexity" not in name}
    verdicts = judge({"total": total, "runs": []}, Thresholds())
    assert all(verdict.passed for verdict in verdicts)
    assert "perplexity_increase" not in {verdict.measure for verdict in verdicts}


def test_a_broken_run_is_not_lost_in_the_total() -> None:
    broken = {"name": "prefill, then a token at a time", "mean_cosine_similarity": 0.4}
    verdicts = judge(measurements({}, broken), Thresholds(min_cosine_similarity=0.99))
    [problem] = [verdict.problem() for verdict in verdicts if not verdict.passed]
    assert problem.where == "measurements, run 2, prefill, then a token at a time"
    assert problem.actual == "0.4"


def test_a_fraction_of_few_rows_is_judged_in_the_total_alone() -> None:
    assert missed({}, {"rows": 10, "top1_agreement": 0.8}) == []
    assert len(missed({}, {"rows": 64, "top1_agreement": 0.8})) == 1


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
    assert {problem.where for problem in caught.value.problems} == {
        "parameters",
        "parameters, max_absolute_error",
        "parameters, max_perplexity_increase",
        "parameters, min_cosine_similarity",
        "parameters, min_top1_agreement",
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"top1_agreement": 0.0}, "mean cosine 0.999500, yet top-1 agreement 0.0000"),
        (
            {"perplexity_increase": 999.0},
            "mean cosine 0.999500, top-1 agreement 0.9700, yet 1000 times the reference's "
            "perplexity",
        ),
        (
            {"perplexity_increase": -0.75},
            "the engine's perplexity is 0.25 times the reference's",
        ),
    ],
)
def test_numbers_that_contradict_each_other(changes: dict[str, float], expected: str) -> None:
    """Whatever the bounds are: here they would let all of it pass."""
    lenient = {"min_top1_agreement": 0.0, "max_perplexity_increase": 1e6}
    assert missed(lenient, **changes) == []
    [problem] = contradictions(measurements(**changes))
    assert (problem.what, problem.actual) == ("the report contradicts itself", expected)


def test_sound_numbers_do_not_contradict_each_other() -> None:
    assert contradictions(measurements({}, {"rows": 3, "top1_agreement": 0.0})) == ()

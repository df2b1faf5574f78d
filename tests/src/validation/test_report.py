from __future__ import annotations

from enginewright.errors import Problem
from enginewright.validation.judgement import Verdict
from enginewright.validation.report import render

MEASUREMENTS = {
    "task": "text-generation",
    "reference": {"library": "PyTorch", "dtype": "float32", "device": "cpu", "output": "logits"},
    "candidate": {"measured": "a graph", "provider": "CPU", "arithmetic": "as it is"},
    "coverage": {
        "samples": 40,
        "samples_there": 90,
        "sample": "tokens",
        "longest": 16,
        "greatest": 64,
        "largest_batch": 4,
        "not_reached": ["rows of 17 to 64 tokens: `max_length` is 16"],
    },
    "notes": ["the reference does not take 1 tensors of the weights: x"],
    "runs": [
        {
            "name": "rows",
            "sequence_length": 16,
            "batch_size": 4,
            "padding": "right",
            "rows": 64,
            "mean_cosine_similarity": 0.99991234567,
            "max_absolute_error": None,
        }
    ],
    "total": {"rows": 64, "mean_cosine_similarity": 0.99991234567, "max_absolute_error": None},
}


def test_what_was_measured_and_both_tables() -> None:
    verdicts = (
        Verdict("nan_count", 0, 0, is_minimum=False),
        Verdict("mean_cosine_similarity", 0.9999123, 0.99995, True, "run 1, rows", True),
    )
    contradiction = Problem("the report contradicts itself", "measurements, total", actual="a, b")
    assert render(MEASUREMENTS, verdicts, [contradiction]) == (
        "task text-generation\n"
        "measured: a graph\n"
        "          CPU, as it is\n"
        "reference: PyTorch, float32; logits\n"
        "dataset: 40 of 90 tokens\n"
        "rows of up to 16 tokens, the greatest is 64; up to 4 at once\n"
        "NOT MEASURED: rows of 17 to 64 tokens: `max_length` is 16\n"
        "note: the reference does not take 1 tensors of the weights: x\n"
        "\n"
        "      number                  measured        bound                where\n"
        "pass  nan_count               0           <=  0                    total\n"
        "FAIL  mean_cosine_similarity  0.99991230  >=  0.99995000  default  run 1, rows\n"
        "FAIL  the report contradicts itself: a, b; measurements, total\n"
        "\n"
        "run         tokens  batch  padding  rows  mean cosine  max error\n"
        "1    rows   16      4      right    64    0.99991235   -\n"
        "     total                          64    0.99991235   -\n"
    )

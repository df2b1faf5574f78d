from __future__ import annotations

from enginewright.validation.judgement import Verdict
from enginewright.validation.report import render

MEASUREMENTS = {
    "task": "text-generation",
    "reference": {"library": "PyTorch", "dtype": "float32", "device": "cpu"},
    "candidate": {"provider": "CPUExecutionProvider", "arithmetic": "as it is"},
    "runs": [
        {
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


def test_both_tables() -> None:
    verdicts = (
        Verdict("nan_count", 0, 0, is_minimum=False),
        Verdict("mean_cosine_similarity", 0.99991234567, 0.99995, is_minimum=True),
    )
    assert render(MEASUREMENTS, verdicts) == (
        "task text-generation; candidate: CPUExecutionProvider, as it is; "
        "reference: PyTorch, float32\n"
        "\n"
        "      number                  measured        bound\n"
        "pass  nan_count               0           <=  0\n"
        "FAIL  mean_cosine_similarity  0.99991235  >=  0.99995000\n"
        "\n"
        "tokens  batch  padding  rows  mean cosine  max error\n"
        "16      4      right    64    0.99991235   -\n"
        "total                   64    0.99991235   -\n"
    )

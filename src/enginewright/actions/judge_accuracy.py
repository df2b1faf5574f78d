"""Step: hold measurements against thresholds.

It fails when one misses its bound, or when they contradict each other.

Inputs: `measurements` (measurements.json). Parameters: see `validation.judgement`. Outputs:
`report.json` and `report.txt`; the table is also printed, whatever the verdict.
"""

from __future__ import annotations

import sys
from pathlib import Path

from enginewright import canonical_json
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.step import ActionRequest, Result, main
from enginewright.validation.judgement import Thresholds, contradictions, judge
from enginewright.validation.report import render

FIELDS = ("task", "total", "runs", "candidate", "reference", "coverage", "notes")


def run(request: ActionRequest, outputs: Path) -> Result:
    path = request.file("measurements").path
    measurements = canonical_json.read_object(path)
    absent = [name for name in FIELDS if name not in measurements]
    if absent:
        raise InputError(Problem("not measurements", str(path), ", ".join(absent), "absent"))
    verdicts = judge(measurements, Thresholds.decode(request.parameters))
    contradicting = contradictions(measurements)
    missed = [verdict.problem() for verdict in verdicts if not verdict.passed]
    passed = not missed and not contradicting
    report = {
        "passed": passed,
        "verdicts": [verdict.to_json() for verdict in verdicts],
        "contradictions": [problem.actual for problem in contradicting],
        "measurements": measurements,
    }
    text = render(measurements, verdicts, contradicting)
    canonical_json.write(outputs / "report.json", report)
    (outputs / "report.txt").write_text(text, encoding="utf-8")
    print(text, file=sys.stdout if passed else sys.stderr)
    raise_if_any([*missed, *contradicting])
    return {"passed": True, "total": measurements["total"]}


if __name__ == "__main__":
    main(run)

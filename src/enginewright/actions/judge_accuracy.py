"""Step: hold measurements against thresholds; fails when one misses its bound.

Inputs: `measurements` (measurements.json). Parameters: see `validation.judgement`. Outputs:
`report.json` and `report.txt`; the table is also printed, whatever the verdict.
"""

from __future__ import annotations

import sys
from pathlib import Path

from enginewright import canonical_json
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.step import ActionRequest, Result, main
from enginewright.validation.judgement import Thresholds, judge
from enginewright.validation.report import render


def run(request: ActionRequest, outputs: Path) -> Result:
    path = request.file("measurements").path
    measurements = canonical_json.read_object(path)
    absent = [name for name in ("task", "total", "runs", "candidate") if name not in measurements]
    if absent:
        raise InputError(Problem("not measurements", str(path), ", ".join(absent), "absent"))
    verdicts = judge(measurements, Thresholds.decode(request.parameters))
    passed = all(verdict.passed for verdict in verdicts)
    report = {
        "passed": passed,
        "verdicts": [verdict.to_json() for verdict in verdicts],
        "measurements": measurements,
    }
    text = render(measurements, verdicts)
    canonical_json.write(outputs / "report.json", report)
    (outputs / "report.txt").write_text(text, encoding="utf-8")
    print(text, file=sys.stdout if passed else sys.stderr)
    raise_if_any([verdict.problem() for verdict in verdicts if not verdict.passed])
    return {"passed": True, "total": measurements["total"]}


if __name__ == "__main__":
    main(run)

"""Step: what the wheels of a tool environment are, in their own words.

Input: `wheels`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.document import encode
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.provenance.wheel import Wheel, read_wheel
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001
    problems: list[Problem] = []
    wheels: list[Wheel] = []
    for file in request.files("wheels"):
        try:
            wheels.append(read_wheel(file.path, file.digest))
        except InputError as error:
            problems += error.problems
    raise_if_any(problems)
    return {"wheels": [encode(wheel) for wheel in wheels]}


if __name__ == "__main__":
    main(run)

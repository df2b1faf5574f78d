"""Every family of encoders for every task, several configs of each, beside transformers.

PYTHONPATH=src:tests/src python tests/src/differential/many_encoders.py --count 2
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from pathlib import Path
from random import Random

from differential import encoders


def run(model_type: str, task: str, number: int) -> float:
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stderr(io.StringIO()):
        folder = Path(name)
        drawn = encoders.draw(model_type, task, Random(f"{model_type} {task} {number}"))
        model = encoders.save(drawn, folder / "checkpoint", number)
        graph = encoders.build(folder / "checkpoint", folder, task)
        return encoders.difference(graph, model, task, 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2)
    given = parser.parse_args()
    for model_type in encoders.FAMILIES:
        for task in encoders.TASKS:
            worst = max(run(model_type, task, number) for number in range(given.count))
            verdict = "equal" if worst < encoders.TOLERANCE else "DIFFERENT"
            print(f"{model_type:12} {task:22} {given.count} {verdict} {worst:.1e}", flush=True)


if __name__ == "__main__":
    main()

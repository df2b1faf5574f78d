"""Compares many odd checkpoints with transformers, and says what came out.

Run from the root of the repository with the Python of the tests:

    PYTHONPATH=src:tests/src python tests/src/differential/many_checkpoints.py --count 500 --seed 1

`--torch-every 25` sends each 25th through the torch exporter as well, which takes seconds.
Exits with 1 where a graph differs from transformers, or an exporter ends with a traceback.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis
import torch
from differential.comparison import compare, text_of
from differential.odd_checkpoints import OddCheckpoint, odd_checkpoints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--torch-every", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    kinds: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    faults = []
    worst = 0.0
    root = Path(tempfile.mkdtemp())
    drawn: list[OddCheckpoint] = []

    @hypothesis.seed(given.seed)
    @hypothesis.settings(
        max_examples=given.count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(odd_checkpoints())
    def draw(odd: OddCheckpoint) -> None:
        drawn.append(odd)

    draw()
    for number, odd in enumerate(drawn):
        exporters = ["direct"]
        if given.torch_every and number % given.torch_every == 0:
            exporters.append("torch")
        for exporter in exporters:
            folder = root / f"{number}.{exporter}"
            outcome = compare(odd, folder, exporter, with_past=number % 2 == 1)
            shutil.rmtree(folder, ignore_errors=True)
            kinds[exporter, outcome.kind] += 1
            worst = max(worst, outcome.difference if outcome.kind == "equal" else 0.0)
            if outcome.kind in ("refused", "library", "both"):
                reasons[f"{exporter} {outcome.kind}: {outcome.detail[:110]}"] += 1
            if outcome.is_fault:
                faults.append((number, exporter, outcome, odd))
                print(f"FAULT {number} {exporter} {outcome.kind}: {outcome.detail}\n{text_of(odd)}")
    for (exporter, kind), count in sorted(kinds.items()):
        print(f"{exporter:7} {kind:10} {count}")
    print(f"largest difference of those that are equal: {worst:.2g} of the largest logit")
    for reason, count in reasons.most_common(40):
        print(f"{count:5} {reason}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

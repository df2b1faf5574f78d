"""Encoders that no family describes, in the generic form: the same numbers as transformers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from differential import encoders


@pytest.mark.parametrize(
    ("model_type", "number"), [(name, n % 3) for n, name in enumerate(encoders.FAMILIES)]
)
def test_an_encoder_is_as_transformers_has_it(model_type: str, number: int, tmp_path: Path) -> None:
    """One task of each: `many_encoders.py` runs all, and more configs of each."""
    task = [*encoders.TASKS][number]
    drawn = encoders.draw(model_type, task, Random(f"{model_type} {number}"))
    model = encoders.save(drawn, tmp_path / "checkpoint", number)
    graph = encoders.build(tmp_path / "checkpoint", tmp_path, task)
    # A table of positions that begins after the padding's is two rows shorter.
    assert encoders.difference(graph, model, task, 32) < encoders.TOLERANCE

"""Recipes for embeddings as exported, beside the reference's own reading of the checkpoint.

`sentence_transformers_itself.py` compares all of them with the library.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from differential import recipes

from enginewright.tasks.feature_extraction.pooling import read_pooling


@pytest.mark.parametrize("name", ["last token and dense", "two dense, not normalized"])
def test_an_embedding_is_as_the_checkpoint_says(name: str, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    recipes.save(recipes.RECIPES[name], checkpoint)
    graph = recipes.build(checkpoint, tmp_path)
    files = {path.relative_to(checkpoint).as_posix(): path for path in checkpoint.rglob("*.*")}
    pooling = read_pooling(files)
    model = transformers.AutoModel.from_pretrained(checkpoint).eval()
    rows = recipes.rows_of(checkpoint)
    for row, given in zip(rows, recipes.embed(graph, rows), strict=True):
        with torch.inference_mode():
            states = model(input_ids=torch.tensor([row])).last_hidden_state[0]
            expected = pooling.apply(states).numpy()
        assert np.abs(given - expected).max() < 2e-5 * np.abs(expected).max()

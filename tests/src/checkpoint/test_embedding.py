"""How a sentence's vector is made, as the checkpoint's own files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enginewright.checkpoint.embedding import EmbeddingRecipe, read_embedding
from enginewright.errors import InputError

PATHS = {"Transformer": "", "Pooling": "1_Pooling", "Dense": "2_Dense", "Normalize": "2_Normalize"}
CLS = {"word_embedding_dimension": 8, "pooling_mode_cls_token": True}


def files(folder: Path, pooling: dict[str, Any] | None, *kinds: str) -> dict[str, Path]:
    modules = folder / "modules.json"
    prefix = "sentence_transformers.models."
    modules.write_text(json.dumps([{"path": PATHS[k], "type": prefix + k} for k in kinds]))
    found = {"modules.json": modules}
    if pooling is not None:
        path = folder / "pooling.json"
        path.write_text(json.dumps(pooling))
        found["1_Pooling/config.json"] = path
    return found


@pytest.mark.parametrize(
    ("pooling", "modes"),
    [
        (CLS, ("cls",)),
        ({"pooling_mode": "mean"}, ("mean",)),
        ({"pooling_mode": ["mean", "max"]}, ("mean", "max")),
        ({"pooling_mode": ["max", "mean"]}, ("max", "mean")),
        ({"pooling_mode_lasttoken": True, "include_prompt": True}, ("lasttoken",)),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, ("max", "mean")),
    ],
)
def test_row_e4_the_pooling_is_that_of_the_checkpoint(
    tmp_path: Path, pooling: dict[str, Any], modes: tuple[str, ...]
) -> None:
    plain = read_embedding(files(tmp_path, pooling, "Transformer", "Pooling"))
    assert plain.required() == EmbeddingRecipe(modes, normalized=False)
    whole = read_embedding(files(tmp_path, pooling, "Transformer", "Pooling", "Normalize"))
    assert whole.required() == EmbeddingRecipe(modes, normalized=True)


@pytest.mark.parametrize(
    ("pooling", "kinds", "message"),
    [
        (CLS, ("Transformer", "Pooling", "Dense"), "files of a dense layer are missing"),
        (CLS, ("Transformer", "Dense", "Pooling"), "does not know this chain of modules"),
        (CLS, ("Transformer",), "does not know this chain of modules"),
        (None, ("Transformer", "Pooling"), "the config of the pooling is missing"),
        ({}, ("Transformer", "Pooling"), "does not know this pooling"),
        ({**CLS, "pooling_mode_new": True}, ("Transformer", "Pooling"), "pooling_mode_new"),
        ({**CLS, "include_prompt": False}, ("Transformer", "Pooling"), "include_prompt false"),
    ],
)
def test_row_e4_a_recipe_that_is_not_understood_is_none(
    tmp_path: Path, pooling: dict[str, Any] | None, kinds: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_embedding(files(tmp_path, pooling, *kinds)).required()


def test_row_e4_without_a_recipe_nothing_is_assumed() -> None:
    with pytest.raises(InputError, match="nothing says how a sentence's vector is made"):
        read_embedding({}).required()

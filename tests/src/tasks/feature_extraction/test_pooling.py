"""The reference's own reading of a checkpoint's pooling, and its arithmetic by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from enginewright.errors import InputError
from enginewright.tasks.feature_extraction.pooling import ASSUMED, Pooling, read_pooling

STATES = torch.tensor([[3.0, 0.0], [0.0, 4.0], [6.0, 8.0]])
PREFIX = "sentence_transformers.models"
MEAN = {"word_embedding_dimension": 2, "pooling_mode_mean_tokens": True}


def write(folder: Path, kinds: list[str], **files: Any) -> dict[str, Path]:
    modules = [
        {"idx": n, "name": str(n), "path": f"{n}_{kind}" if n else "", "type": f"{PREFIX}.{kind}"}
        for n, kind in enumerate(kinds)
    ]
    documents = {"modules.json": modules, **files}
    found = {}
    for name, document in documents.items():
        path = folder / name.replace("/", "_")
        path.write_text(json.dumps(document))
        found[name] = path
    return found


def chain(folder: Path, pooling: Any, *after: str, **files: Any) -> Pooling:
    kinds = ["Transformer", "Pooling", *after]
    return read_pooling(write(folder, kinds, **{"1_Pooling/config.json": pooling, **files}))


@pytest.mark.parametrize(
    ("config", "modes", "expected"),
    [
        (MEAN, ("mean",), [3.0, 4.0]),
        ({"pooling_mode_cls_token": True}, ("cls",), [3.0, 0.0]),
        ({"pooling_mode_max_tokens": True}, ("max",), [6.0, 8.0]),
        ({"pooling_mode_lasttoken": True}, ("lasttoken",), [6.0, 8.0]),
        ({"pooling_mode_weightedmean_tokens": True}, ("weightedmean",), [3.5, 16 / 3]),
        (
            {"pooling_mode_mean_sqrt_len_tokens": True},
            ("mean_sqrt_len_tokens",),
            [9 / 3**0.5, 12 / 3**0.5],
        ),
        (
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
            ("cls", "mean"),
            [3.0, 0.0, 3.0, 4.0],
        ),
        ({"pooling_mode": "lasttoken"}, ("lasttoken",), [6.0, 8.0]),
    ],
)
def test_row_e4_each_pooling_is_read_and_computed(
    tmp_path: Path, config: Any, modes: tuple[str, ...], expected: list[float]
) -> None:
    pooling = chain(tmp_path, config)
    assert (pooling.modes, pooling.normalize) == (modes, False)
    assert pooling.apply(STATES).tolist() == pytest.approx(expected)


def test_a_normalised_vector_has_length_one(tmp_path: Path) -> None:
    pooling = chain(tmp_path, MEAN, "Normalize")
    assert pooling.apply(STATES).tolist() == pytest.approx([0.6, 0.8])
    assert pooling.description == "mean pooling, normalised; from modules.json"


def test_without_modules_the_pooling_is_assumed_and_said_to_be() -> None:
    pooling = read_pooling({})
    assert (pooling.modes, pooling.normalize, pooling.source) == (("mean",), True, ASSUMED)
    assert "ASSUMED" in pooling.description


def test_prompt_and_length_of_a_sentence(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "other": "x"}, "default_prompt_name": "query"}
    files = {
        "config_sentence_transformers.json": prompts,
        "sentence_bert_config.json": {"max_seq_length": 128, "do_lower_case": False},
    }
    pooling = chain(tmp_path, MEAN, **files)
    assert (pooling.prompt, pooling.longest) == ("query: ", 128)


def refused(tmp_path: Path, kinds: list[str], **files: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_pooling(write(tmp_path, kinds, **files))
    return str(caught.value)


@pytest.mark.parametrize("kind", ["LayerNorm", "CNN", "WeightedLayerPooling"])
def test_a_module_that_the_reference_lacks_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    pooling = {"1_Pooling/config.json": MEAN}
    text = refused(tmp_path, ["Transformer", "Pooling", kind], **pooling)
    assert "does not know this module of sentence-transformers" in text
    assert f"actual:   {kind}" in text


def test_other_chains_and_missing_files_are_refused(tmp_path: Path) -> None:
    assert "does not know this chain" in refused(tmp_path, ["Transformer"])
    text = refused(tmp_path, ["Transformer", "Pooling"])
    assert "the checkpoint's pooling is not among its files" in text
    assert 'add "1_Pooling/config.json" to the field `tokenizer`' in text


def test_a_pooling_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    config = {"pooling_mode_mean_tokens": True, "pooling_mode_magic_tokens": True}
    text = refused(tmp_path, ["Transformer", "Pooling"], **{"1_Pooling/config.json": config})
    assert "unknown pooling" in text
    assert "pooling_mode_magic_tokens" in text
    none = {"1_Pooling/config.json": {"pooling_mode_mean_tokens": False}}
    assert "no pooling is chosen" in refused(tmp_path, ["Transformer", "Pooling"], **none)


def test_a_text_that_is_made_lower_case_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lower-case"):
        chain(tmp_path, MEAN, **{"sentence_bert_config.json": {"do_lower_case": True}})

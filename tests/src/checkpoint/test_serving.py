"""What serving needs of a checkpoint: tokens, lengths, prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enginewright.checkpoint.serving import read_serving
from enginewright.errors import InputError


def write(folder: Path, **files: Any) -> dict[str, Path]:
    found = {}
    for name, content in files.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content))
        found[path.name] = path
    return found


def test_row_e14_stop_tokens_of_config_and_generation_config(tmp_path: Path) -> None:
    files = write(tmp_path, generation_config={"eos_token_id": [14, 7], "bos_token_id": 3})
    serving = read_serving({"eos_token_id": [0, 14], "bos_token_id": 1}, 20, files)
    assert serving.stop.ids == (0, 14, 7)
    assert serving.stop.source == ("config.json", "generation_config.json")
    # A text begins with one token: that of the file that is about generation.
    assert (serving.begin.ids, serving.begin.source) == ((3,), ("generation_config.json",))


def test_row_e14_the_config_alone_is_enough() -> None:
    assert read_serving({"eos_token_id": [0, 14]}, 20, {}).stop.ids == (0, 14)
    assert read_serving({"eos_token_id": -1}, 20, {}).stop.ids == ()


def test_row_e14_a_stop_token_that_cannot_come_is_a_warning() -> None:
    (warning,) = read_serving({"eos_token_id": 20}, 20, {}).warnings()
    assert "stop token 20 (config.json) is beyond the model's vocabulary" in warning


def test_a_token_that_is_no_id() -> None:
    with pytest.raises(InputError, match=r"config\.json, `eos_token_id`"):
        read_serving({"eos_token_id": "</s>"}, 20, {})


def test_what_sentence_transformers_says(tmp_path: Path) -> None:
    files = write(
        tmp_path,
        sentence_bert_config={"max_seq_length": 256},
        config_sentence_transformers={"prompts": {"query": "q: "}, "default_prompt_name": "query"},
    )
    serving = read_serving({}, 20, files)
    assert (serving.sentence_length, dict(serving.prompts)) == (256, {"query": "q: "})
    assert serving.default_prompt == "query"

"""Ways to get an embedding wrong, one at a time, and what the test says of each.

The sound graph passes with what its checkpoint says; the others must not. The table of
docs/validation.md has the same rows.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import transformers
from engine_test_steps import (
    COSINE,
    ERROR,
    FLOAT32,
    TOKENS,
    VOCABULARY,
    documented_rows,
    engine_test,
    report_of,
    save_tokenizer,
)
from graph_mutations import ignore_input
from onnx import helper, numpy_helper
from tiny_encoder import encoder_model

Mutate = Callable[[onnx.ModelProto], None]
MEAN = {"pooling_mode_mean_tokens": True}
CLS = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        initializer_range=0.5,
        attn_implementation="eager",
    )
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    model.save_pretrained(folder)
    save_tokenizer(folder)
    lines = [TOKENS[begin : begin + 3 + begin % 17] for begin in range(0, 560, 14)]
    text = "\n".join(" ".join(f"w{token}" for token in line) for line in lines)
    (folder / "heldout.txt").write_text(text)
    onnx.save(encoder_model(model.state_dict()), str(folder / "model.onnx"))
    return folder


def embed_test(
    encoder: Path,
    folder: Path,
    pooling: dict[str, Any],
    mutate: Mutate | None = None,
    *after_it: str,
) -> int:
    """An engine of mean pooling and normalisation, and a checkpoint that says `pooling`."""
    source = folder / "checkpoint"
    shutil.copytree(encoder, source)
    kinds = ["Transformer", "Pooling", *after_it]
    modules = [
        {"path": f"{n}_{kind}" if n else "", "type": f"sentence_transformers.models.{kind}"}
        for n, kind in enumerate(kinds)
    ]
    (source / "modules.json").write_text(json.dumps(modules))
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "engine").mkdir()
    model = onnx.load(source / "model.onnx")
    if mutate is not None:
        mutate(model)
    onnx.save(model, folder / "engine" / "model.onnx")
    others = ("modules.json", "1_Pooling/config.json")
    path = folder / "engine" / "model.onnx"
    return engine_test(path, source, folder, "feature-extraction", FLOAT32, *others)


def leave_out(kind: str) -> Mutate:
    def mutate(model: onnx.ModelProto) -> None:
        for item in model.graph.node:
            if item.op_type == kind:
                item.CopyFrom(helper.make_node("Identity", item.input[:1], item.output))

    return mutate


def other_words(model: onnx.ModelProto) -> None:
    name = "embeddings.word_embeddings.weight"
    [found] = [t for t in model.graph.initializer if t.name == name]
    rows = np.roll(numpy_helper.to_array(found), 1, axis=0)
    found.CopyFrom(numpy_helper.from_array(rows, found.name))


def test_the_sound_encoder_passes(encoder: Path, tmp_path: Path) -> None:
    assert embed_test(encoder, tmp_path, MEAN, None, "Normalize") == 0
    report = report_of(tmp_path)["measurements"]
    assert report["reference"]["output"] == "mean pooling, normalised; from modules.json"
    assert report["coverage"]["samples"] == report["coverage"]["samples_there"] == 40


UNKNOWN = "the reference does not know this module of sentence-transformers"
UNMASKED = ignore_input("attention_mask")
NORMALIZE = ("Normalize",)
CASES: dict[str, tuple[dict[str, Any], Mutate | None, tuple[str, ...], str]] = {
    # What the checkpoint says; the mutation of the graph; modules after the pooling; the report.
    "another pooling": (CLS, None, NORMALIZE, COSINE),
    "normalised, and the checkpoint does not": (MEAN, None, (), ERROR),
    "not normalised": (MEAN, leave_out("LpNormalization"), NORMALIZE, ERROR),
    "an activation left out": (MEAN, leave_out("Gelu"), NORMALIZE, COSINE),
    "words of other ids": (MEAN, other_words, NORMALIZE, COSINE),
    "padding of sentences is not masked": (MEAN, UNMASKED, NORMALIZE, COSINE),
    "a module that is not known": (MEAN, None, ("CNN", "Normalize"), UNKNOWN),
}


def test_the_document_has_each_fault() -> None:
    rows = documented_rows()
    for name, (*_, says) in CASES.items():
        assert any(row.startswith(f"| {name} | {says} |") for row in rows)


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_encoder_fails(
    name: str, encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pooling, mutate, modules, says = CASES[name]
    assert embed_test(encoder, tmp_path, pooling, mutate, *modules) == 1
    errors = capsys.readouterr().err
    assert says in errors
    assert "Traceback" not in errors

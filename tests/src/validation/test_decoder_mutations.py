"""Ways to get a model's numbers wrong, one at a time, and what the test says of each.

The sound graph passes; each mutation of it, or of what it was exported from, must not. The table of
docs/validation.md has the same rows.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    step,
)
from graph_mutations import (
    half_frequencies,
    ignore_input,
    positions_of_the_call,
    scale_logits,
    see_one_token_ahead,
    shift_logits,
    swap_cache,
    to_half_and_back,
)
from safetensors.torch import load_file, save_file

from enginewright.actions import export_direct, verify_checkpoint

Tensors = dict[str, torch.Tensor]


# A decoder with all that can be got wrong: biases, two kinds of layers, scaled positions.
CONFIG = transformers.Qwen2Config(
    vocab_size=VOCABULARY,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    rms_norm_eps=1e-6,
    use_sliding_window=True,
    sliding_window=24,
    max_window_layers=1,
    tie_word_embeddings=False,
    rope_parameters={
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 64,
    },
    attn_implementation="eager",
)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decoder")
    torch.manual_seed(3)
    model = transformers.Qwen2ForCausalLM(CONFIG).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "norm" in name:
                tensor.uniform_(0.5, 1.5)
            elif "embed" in name:
                tensor.normal_(0, 0.02)  # as large as a trained one: a wrong eps shows
            else:
                tensor.normal_(0, 0.3)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    (folder / "heldout.txt").write_text(" ".join(f"w{token}" for token in TOKENS))
    return folder


def export(checkpoint: Path, folder: Path) -> Path:
    """The graph with a KV cache of the checkpoint, its weights beside it."""
    files = {"config": [checkpoint / "config.json"], "weights": [checkpoint / "model.safetensors"]}
    assert step(verify_checkpoint.run, folder, files, {}) == 0
    described = {
        "config": [folder / "outputs" / "config.json"],
        "descriptor": [folder / "outputs" / "checkpoint.json"],
    }
    parameters = {"task": "text-generation-with-past", "opset": 23, "dtype": "float32"}
    assert step(export_direct.run, folder, described, parameters) == 0
    shutil.copy(checkpoint / "model.safetensors", folder / "outputs" / "model")
    return folder / "outputs" / "model" / "model.onnx"


@dataclass(frozen=True)
class Mutation:
    """Of the checkpoint that is exported, or of the graph."""

    config: Callable[[dict[str, Any]], None] | None = None
    weights: Callable[[Tensors], None] | None = None
    graph: Callable[[onnx.ModelProto], None] | None = None


LAYER = "model.layers.1.self_attn"


def transpose_output(tensors: Tensors) -> None:
    tensors[f"{LAYER}.o_proj.weight"] = tensors[f"{LAYER}.o_proj.weight"].T.contiguous()


def tie_head(tensors: Tensors) -> None:
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()


def drop_bias(tensors: Tensors) -> None:
    tensors[f"{LAYER}.q_proj.bias"].zero_()


def swap_gate_and_up(tensors: Tensors) -> None:
    gate, up = (f"model.layers.1.mlp.{name}_proj.weight" for name in ("gate", "up"))
    tensors[gate], tensors[up] = tensors[up], tensors[gate]


def swap_query_heads(tensors: Tensors) -> None:
    for kind in ("weight", "bias"):
        name = f"{LAYER}.q_proj.{kind}"
        tensors[name] = torch.roll(tensors[name], 8, dims=0)


def damage_one_row(tensors: Tensors) -> None:
    tensors["lm_head.weight"][7] += 1.5


def default_rope(config: dict[str, Any]) -> None:
    config["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0}


def half_the_factor(config: dict[str, Any]) -> None:
    config["rope_parameters"]["factor"] = 2.0


def change(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda config: config.update(fields)


CASES: dict[str, tuple[Mutation, str, str]] = {
    # What is wrong: the mutation, what the test says, and the first run that shows it.
    "another head": (Mutation(weights=tie_head), COSINE, "whole dataset"),
    "a damaged row of the head": (Mutation(weights=damage_one_row), ERROR, "whole dataset"),
    "a dropped bias": (Mutation(weights=drop_bias), COSINE, "whole dataset"),
    "a transposed weight": (Mutation(weights=transpose_output), COSINE, "whole dataset"),
    "gate and up swapped": (Mutation(weights=swap_gate_and_up), COSINE, "whole dataset"),
    "heads in another order": (Mutation(weights=swap_query_heads), COSINE, "whole dataset"),
    "a wrong eps": (Mutation(config=change(rms_norm_eps=1e-5)), ERROR, "whole dataset"),
    "a wrong window": (Mutation(config=change(sliding_window=48)), COSINE, "whole dataset"),
    "no window": (
        Mutation(config=change(use_sliding_window=False, layer_types=["full_attention"] * 3)),
        COSINE,
        "whole dataset",
    ),
    "a window in each layer": (
        Mutation(config=change(max_window_layers=0, layer_types=["sliding_attention"] * 3)),
        COSINE,
        "whole dataset",
    ),
    "no rope scaling": (Mutation(config=default_rope), COSINE, "whole dataset"),
    "half the rope scaling": (Mutation(config=half_the_factor), COSINE, "whole dataset"),
    "angles in half precision": (
        Mutation(graph=to_half_and_back("rotary.angles")),
        ERROR,
        "whole dataset",
    ),
    "frequencies in half precision": (Mutation(graph=half_frequencies), ERROR, "whole dataset"),
    "logits eight times as large": (
        Mutation(graph=scale_logits),
        "the report contradicts itself",
        "whole dataset",
    ),
    "logits of the next token": (Mutation(graph=shift_logits), COSINE, "whole dataset"),
    "one token ahead is seen": (Mutation(graph=see_one_token_ahead), COSINE, "whole dataset"),
    "keys and values of the cache swapped": (
        Mutation(graph=swap_cache),
        COSINE,
        "prefill, then a token at a time",
    ),
    "positions from 0 in each call": (
        Mutation(graph=positions_of_the_call),
        COSINE,
        "prefill, then a token at a time",
    ),
    "padding is not masked": (Mutation(graph=ignore_input("attention_mask")), COSINE, "rows, left"),
}


def test_the_document_has_each_fault() -> None:
    rows = documented_rows()
    for name, (_, says, where) in CASES.items():
        assert f"| {name} | {says} | {where} |" in rows


def mutated(checkpoint: Path, folder: Path, mutation: Mutation) -> Path:
    source = folder / "checkpoint"
    source.mkdir()
    config = json.loads((checkpoint / "config.json").read_text())
    tensors = load_file(checkpoint / "model.safetensors")
    if mutation.config is not None:
        mutation.config(config)
    if mutation.weights is not None:
        mutation.weights(tensors)
    (source / "config.json").write_text(json.dumps(config))
    save_file(tensors, source / "model.safetensors", metadata={"format": "pt"})
    path = export(source, folder / "export")
    if mutation.graph is not None:
        model = onnx.load(path, load_external_data=False)
        mutation.graph(model)
        onnx.save(model, path)
    return path


def test_the_sound_decoder_passes(decoder: Path, tmp_path: Path) -> None:
    path = mutated(decoder, tmp_path, Mutation())
    assert engine_test(path, decoder, tmp_path, "text-generation-with-past", FLOAT32) == 0
    report = report_of(tmp_path)
    assert report["measurements"]["coverage"]["longest"] == 256
    assert report["measurements"]["total"]["max_relative_error"] < 1e-5


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_decoder_fails(
    name: str, decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutation, says, where = CASES[name]
    path = mutated(decoder, tmp_path, mutation)
    capsys.readouterr()
    assert engine_test(path, decoder, tmp_path, "text-generation-with-past", FLOAT32) == 1
    errors = capsys.readouterr().err
    assert says in errors
    assert "Traceback" not in errors
    report = report_of(tmp_path)
    shown = [
        ", ".join([run["name"], *([run["padding"]] if where.startswith("rows") else [])])
        for run in report["measurements"]["runs"]
        if run["max_relative_error"] > 0.0001
    ]
    assert where == shown[0]

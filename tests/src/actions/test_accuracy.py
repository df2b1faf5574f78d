"""Measure and judge real models, as steps: a tiny decoder and a tiny encoder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tokenizers
import torch
import transformers
from onnx import numpy_helper
from step_process import write_request
from tiny_encoder import encoder_model

from enginewright.actions import (
    export_direct,
    judge_accuracy,
    measure_accuracy,
    verify_checkpoint,
)
from enginewright.step import Step, run_step

WORDS = "the quick brown fox jumps over a lazy dog and then it sleeps in warm sun".split()  # noqa: SIM905
TEXT = "\n".join(
    " ".join(WORDS[(3 * line + 5 * word) % len(WORDS)] for word in range(3 + line % 7))
    for line in range(40)
)
LANGUAGE = {"task": "text-generation", "positions": 32}
SENTENCES = {"task": "feature-extraction", "positions": 32}
LOOSE = {"max_relative_error": 10.0, "min_top1_agreement": 0.0, "max_perplexity_increase": 10.0}


def save_tokenizer(folder: Path, *, special: bool) -> None:
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[CLS]", "[SEP]", *WORDS])}
    model = tokenizers.models.WordLevel(vocabulary, unk_token="[PAD]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    # Left in the file on purpose: the step must not pad or cut by itself.
    tokenizer.enable_padding(length=12)
    tokenizer.save(str(folder / "tokenizer.json"))


def save_checkpoint(model: Any, folder: Path) -> None:
    model.save_pretrained(folder)
    (folder / "heldout.txt").write_text(TEXT)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decoder")
    torch.manual_seed(1)
    config = transformers.Qwen3Config(
        vocab_size=24,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=32,
        initializer_range=0.5,
        attn_implementation="eager",
    )
    model = transformers.Qwen3ForCausalLM(config).eval()
    save_checkpoint(model, folder)
    save_tokenizer(folder, special=False)
    write_graph(folder)
    return folder


def write_graph(folder: Path) -> None:
    """The graph of the decoder, with its weights in the safetensors file as external data."""
    checkpoint = {
        "config": folder / "config.json",
        "weights": folder / "model.safetensors",
        "tokenizer": folder / "tokenizer.json",
    }
    assert step(verify_checkpoint.run, folder, checkpoint, {}) == 0
    described = {
        "config": folder / "outputs" / "config.json",
        "descriptor": folder / "outputs" / "checkpoint.json",
    }
    parameters = {"task": "text-generation", "opset": 23, "dtype": "float32"}
    assert step(export_direct.run, folder, described, parameters) == 0
    shutil.copy(folder / "outputs" / "model" / "model.onnx", folder / "model.onnx")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=24,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=32,
        initializer_range=0.5,
        attn_implementation="eager",
    )
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    save_checkpoint(model, folder)
    save_tokenizer(folder, special=True)
    onnx.save(encoder_model(model.state_dict()), str(folder / "model.onnx"))
    return folder


def step(action: Step, folder: Path, inputs: dict[str, Path], parameters: object) -> int:
    roles = {role: [path] for role, path in inputs.items()}
    return run_step(action, write_request(folder, "x", roles, parameters), folder / "outputs")


def inputs(checkpoint: Path, **others: Path) -> dict[str, Path]:
    return {
        "model": checkpoint / "model.onnx",
        "config": checkpoint / "config.json",
        "weights": checkpoint / "model.safetensors",
        "tokenizer": checkpoint / "tokenizer.json",
        "serving": checkpoint / "tokenizer.json",
        "dataset": checkpoint / "heldout.txt",
        **others,
    }


def measure(folder: Path, parameters: object, files: dict[str, Path]) -> dict[str, Any]:
    assert step(measure_accuracy.run, folder, files, parameters) == 0
    return dict(json.loads((folder / "outputs" / "measurements.json").read_text()))


def judge(folder: Path, thresholds: dict[str, float]) -> int:
    measurements = {"measurements": folder / "outputs" / "measurements.json"}
    return step(judge_accuracy.run, folder, measurements, thresholds)


def perturb(source: Path, target: Path, error: float) -> float:
    """Add `error` to one logit of every token, through the bias of a new last node."""
    model = onnx.load(str(source))
    name = model.graph.output[0].name
    for node in model.graph.node:
        node.output[:] = [f"{name}_exact" if output == name else output for output in node.output]
    bias = np.zeros(24, np.float32)
    bias[5] = error
    model.graph.initializer.append(numpy_helper.from_array(bias, "error"))
    model.graph.node.append(onnx.helper.make_node("Add", [f"{name}_exact", "error"], [name]))
    onnx.save(model, str(target))
    return error


def test_an_exact_export_passes_strict_thresholds(decoder: Path, tmp_path: Path) -> None:
    measurements = measure(tmp_path, LANGUAGE, inputs(decoder))
    tokens = len(TEXT.split())
    assert [
        (run["name"], run["sequence_length"], run["batch_size"], run["padding"], run["rows"])
        for run in measurements["runs"]
    ] == [
        ("whole dataset", None, 3, "none", tokens - 1),
        ("rows", 17, 1, "none", 136),
        ("rows", 17, 3, "none", 136),
        ("rows", 17, 3, "right", 108),
        ("rows", 32, 1, "none", 64),
        ("rows", 32, 2, "none", 64),
        ("rows", 32, 2, "right", 56),
    ]
    assert measurements["candidate"]["provider"] == "CPUExecutionProvider"
    assert "it stands for the plan" in measurements["candidate"]["measured"]
    assert measurements["total"]["max_absolute_error"] < 1e-4
    thresholds = {
        "min_cosine_similarity": 0.99999,
        "min_worst_cosine_similarity": 0.99999,
        "max_absolute_error": 1e-4,
        "min_top1_agreement": 1.0,
        "max_perplexity_increase": 1e-5,
    }
    assert judge(tmp_path, thresholds) == 0
    report = json.loads((tmp_path / "outputs" / "report.json").read_text())
    assert report["passed"] is True
    assert report["measurements"] == measurements
    assert "pass  mean_cosine_similarity" in (tmp_path / "outputs" / "report.txt").read_text()


def test_perplexity_is_that_of_the_pytorch_model(decoder: Path, tmp_path: Path) -> None:
    """Against the loss that transformers itself computes, on the one window there is."""
    model = transformers.AutoModelForCausalLM.from_pretrained(decoder)
    tokenizer = tokenizers.Tokenizer.from_file(str(decoder / "tokenizer.json"))
    tokenizer.no_padding()
    ids = torch.tensor([tokenizer.encode(TEXT).ids[:17]])
    with torch.inference_mode():
        loss = float(model(input_ids=ids, labels=ids).loss)
    parameters = {**LANGUAGE, "positions": 16, "max_samples": 1}
    total = measure(tmp_path, parameters, inputs(decoder))["total"]
    assert total["reference_perplexity"] == pytest.approx(np.exp(loss), rel=1e-5)


def test_a_perturbed_model_fails_with_the_right_number(
    decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    perturb(decoder / "model.onnx", tmp_path / "model.onnx", 0.125)
    files = inputs(decoder, model=tmp_path / "model.onnx")
    total = measure(tmp_path, LANGUAGE, files)["total"]
    assert total["max_absolute_error"] == pytest.approx(0.125, abs=1e-4)
    capsys.readouterr()
    thresholds = {**LOOSE, "max_absolute_error": 0.1, "min_cosine_similarity": 0.5}
    assert judge(tmp_path, thresholds) == 1
    errors = capsys.readouterr().err
    assert "FAIL  max_absolute_error" in errors
    assert "pass  mean_cosine_similarity" in errors
    assert f"expected: <= 0.1\n  actual:   {total['max_absolute_error']:.9g}" in errors
    assert json.loads((tmp_path / "outputs" / "report.json").read_text())["passed"] is False


def test_infinite_logits_fail_without_any_threshold(
    decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    perturb(decoder / "model.onnx", tmp_path / "model.onnx", float("inf"))
    total = measure(tmp_path, LANGUAGE, inputs(decoder, model=tmp_path / "model.onnx"))["total"]
    assert total["inf_count"] == total["rows"]
    assert total["mean_cosine_similarity"] is None
    assert judge(tmp_path, {}) == 1
    assert "`inf_count` missed its bound" in capsys.readouterr().err


def test_sentences_alone_padded_and_in_windows(encoder: Path, tmp_path: Path) -> None:
    measurements = measure(tmp_path, SENTENCES, inputs(encoder))
    assert [
        (run["name"], run["sequence_length"], run["batch_size"], run["padding"], run["rows"])
        for run in measurements["runs"]
    ] == [
        ("lines", None, 1, "none", 40),
        ("lines", None, 4, "right", 40),
        ("rows of tokens", 17, 4, "none", 8),
        ("rows of tokens", 32, 2, "none", 2),
    ]
    assert len(measurements["sentences"]) == 40
    assert min(s["cosine_similarity"] for s in measurements["sentences"]) > 0.99999
    assert "perplexity" not in measurements["total"]
    assert "ASSUMED" in measurements["reference"]["output"]
    assert judge(tmp_path, {"min_worst_cosine_similarity": 0.99999}) == 0


def test_a_graph_that_ignores_the_mask_fails_on_padded_sentences(
    encoder: Path, tmp_path: Path
) -> None:
    model = onnx.load(str(encoder / "model.onnx"))
    ones = onnx.helper.make_node("Add", ["nothing", "one"], ["all_ones"])
    nothing = onnx.helper.make_node("Mul", ["attention_mask", "zero"], ["nothing"])
    for node in model.graph.node:
        node.input[:] = ["all_ones" if i == "attention_mask" else i for i in node.input]
    for name, value in (("zero", 0), ("one", 1)):
        array = np.array(value, np.int64)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    model.graph.node.insert(0, ones)
    model.graph.node.insert(0, nothing)
    onnx.save(model, str(tmp_path / "model.onnx"))
    files = inputs(encoder, model=tmp_path / "model.onnx")
    runs = measure(tmp_path, SENTENCES, files)["runs"]
    worst = {run["padding"]: run["worst_cosine_similarity"] for run in runs}
    assert worst["none"] > 0.99999
    assert worst["right"] < 0.999


def test_weights_without_a_tensor_are_refused_not_filled(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(encoder / "model.safetensors")
    gone = "encoder.layer.0.output.dense.weight"
    del tensors[gone]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    files = inputs(encoder, weights=tmp_path / "model.safetensors")
    assert step(measure_accuracy.run, tmp_path, files, SENTENCES) == 1
    errors = capsys.readouterr().err
    assert "weights lack tensors of the model" in errors
    assert gone in errors


def test_damaged_weights_are_refused_without_a_traceback(
    decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.safetensors").write_bytes(
        (decoder / "model.safetensors").read_bytes()[:2000]
    )
    files = inputs(decoder, weights=tmp_path / "model.safetensors")
    assert step(measure_accuracy.run, tmp_path, files, LANGUAGE) == 1
    assert "transformers refuses the checkpoint" in capsys.readouterr().err


def test_a_folder_without_tokenizer_is_refused(
    decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = inputs(decoder, tokenizer=decoder / "config.json")
    assert step(measure_accuracy.run, tmp_path, files, LANGUAGE) == 1
    assert "expected: tokenizer.json" in capsys.readouterr().err

"""Small checkpoints of encoders with odd configs, exported for each task, beside transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnxruntime
import torch
import transformers
from step_process import write_request

from enginewright.actions import check_graph, check_weights, export_onnx, verify_checkpoint
from enginewright.step import Step, run_step

TOLERANCE = 2e-5
"""Of the greatest number of the reference."""
FAMILIES: Mapping[str, str] = {
    "bert": "Bert",
    "distilbert": "DistilBert",
    "modernbert": "ModernBert",
    "mpnet": "MPNet",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
}
"""How the library's classes of each model type begin."""
TASKS: Mapping[str, str] = {
    "feature-extraction": "Model",
    "text-classification": "ForSequenceClassification",
    "token-classification": "ForTokenClassification",
}
VOCABULARY = 40
RECIPE = {
    "modules.json": [
        {"idx": 0, "type": "sentence_transformers.models.Transformer", "path": ""},
        {"idx": 1, "type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    ],
    "1_Pooling/config.json": {"pooling_mode": "mean"},
}


@dataclass(frozen=True)
class Drawn:
    task: str
    config: transformers.PretrainedConfig
    architecture: str


def draw(model_type: str, task: str, random: Random) -> Drawn:
    heads = random.choice((1, 2, 3))
    hidden = heads * random.choice((4, 8, 16))
    sizes = {
        "hidden_size": hidden,
        "intermediate_size": random.choice((12, 24)),
        "num_attention_heads": heads,
        "num_hidden_layers": random.choice((1, 2, 3)),
        "hidden_act": random.choice(("gelu", "relu", "gelu_new", "silu")),
        "max_position_embeddings": random.choice((34, 66)),
        "layer_norm_eps": random.choice((1e-12, 1e-5)),
        "num_labels": random.choice((1, 2, 5)),
        "initializer_range": 0.3,
    }
    own: dict[str, Any] = {
        "bert": {"type_vocab_size": random.choice((1, 2, 3))},
        "distilbert": {
            "dim": hidden,
            "hidden_dim": sizes["intermediate_size"],
            "n_heads": heads,
            "n_layers": sizes["num_hidden_layers"],
            "activation": random.choice(("gelu", "relu")),
            "sinusoidal_pos_embds": random.choice((True, False)),
        },
        "modernbert": {
            "hidden_activation": "gelu",
            "global_attn_every_n_layers": random.choice((1, 2, 3)),
            "local_attention": random.choice((4, 8)),
            "classifier_pooling": random.choice(("cls", "mean")),
            "pad_token_id": 0,
        },
        "mpnet": {"relative_attention_num_buckets": 32},
        "roberta": {"type_vocab_size": random.choice((1, 2)), "pad_token_id": 1},
        "xlm-roberta": {"type_vocab_size": 1, "pad_token_id": 1},
    }[model_type]
    if model_type in ("distilbert", "modernbert"):
        sizes = {k: v for k, v in sizes.items() if k not in ("hidden_act", "layer_norm_eps")}
    kind = transformers.CONFIG_MAPPING[model_type]
    architecture = FAMILIES[model_type] + TASKS[task]
    made = kind(vocab_size=VOCABULARY, architectures=[architecture], **{**sizes, **own})
    return Drawn(task, made, architecture)


def save(drawn: Drawn, folder: Path, seed: int) -> Any:
    """The library's model, whose checkpoint is in the folder then."""
    torch.manual_seed(seed)
    drawn.config._attn_implementation = "eager"
    model = getattr(transformers, drawn.architecture)(drawn.config).eval()
    model.save_pretrained(folder)
    for name, content in RECIPE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return model


def step(action: Step, folder: Path, inputs: Mapping[str, list[Path]], parameters: object) -> None:
    folder.mkdir()
    request = write_request(folder, "x", inputs, parameters)
    assert run_step(action, request, folder / "outputs") == 0, folder.name


def build(
    checkpoint: Path,
    folder: Path,
    task: str,
    dtype: str = "float32",
    beside: list[Path] | None = None,
) -> Path:
    """The model that the build's own steps make and check."""
    weights = [checkpoint / "model.safetensors"]
    beside = [checkpoint / name for name in RECIPE] if beside is None else beside
    config = [checkpoint / "config.json"]
    parts = {"config": config, "weights": weights, "beside": beside}
    step(verify_checkpoint.run, folder / "verify", parts, {})
    described = folder / "verify" / "outputs"
    files = {"config": [described / "config.json"], "weights": weights}
    if task == "feature-extraction":
        files["embedding"] = [described / "embedding.json"]
        files["dense"] = [path for path in beside if path.suffix == ".safetensors"]
    parameters = {"task": task, "dtype": dtype, "opset": 20}
    step(export_onnx.run, folder / "export", files, parameters)
    made = folder / "export" / "outputs"
    graph, record = made / "model" / "model.onnx", made / "onnx.json"
    checked = {"dynamic_axes": ["batch", "sequence"], "dtype": dtype, "reader": None}
    inputs = {"model": [graph], "record": [record]}
    step(check_graph.run, folder / "graph", inputs, {**checked, "length": None})
    data = {"model": [graph], "data": [graph.with_name("model.onnx.data")]}
    step(check_weights.run, folder / "weights", data, {"dtype": dtype})
    return graph


def difference(graph: Path, model: Any, task: str, longest: int) -> float:
    """Greatest difference by the greatest number, over one row and padded rows of several sizes."""
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    names = [tensor.name for tensor in session.get_inputs()]
    random, worst = np.random.default_rng(7), 0.0
    for lengths in ((1,), (5, longest, 9), (longest, 3)):
        ids = np.zeros((len(lengths), max(lengths)), np.int64)
        mask = np.zeros_like(ids)
        types = np.zeros_like(ids)
        for row, length in enumerate(lengths):
            ids[row, :length] = random.integers(3, VOCABULARY, length)
            mask[row, :length] = 1
            types[row, length // 2 : length] = 1 if "token_type_ids" in names else 0
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        given = session.run(None, {name: fed[name] for name in names})[0]
        for row, length in enumerate(lengths):
            expected = reference(model, task, ids[row, :length], types[row, :length], names)
            found = given[row, :length] if task == "token-classification" else given[row]
            worst = max(worst, float(np.abs(found - expected).max() / np.abs(expected).max()))
    return worst


def reference(model: Any, task: str, ids: Any, types: Any, names: list[str]) -> Any:
    """Of one row alone, without padding."""
    inputs = {"input_ids": torch.from_numpy(ids[None])}
    if "token_type_ids" in names:
        inputs["token_type_ids"] = torch.from_numpy(types[None])
    with torch.inference_mode():
        out = model(**inputs)
    if task == "feature-extraction":
        return out.last_hidden_state[0].mean(0).numpy()
    return out.logits[0].numpy()

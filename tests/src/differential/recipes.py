"""Checkpoints with recipes for embeddings, as sentence-transformers writes and reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import tokenizers
import torch
import transformers
from differential import encoders
from numpy.typing import NDArray
from safetensors.torch import save_file

SPECIAL = ("<pad>", "<end>", "<unk>")
WORDS = [*SPECIAL, *(f"w{number}" for number in range(len(SPECIAL), encoders.VOCABULARY))]
LINES = ("w3 w4 w5", "w9", "w7 w8 w3 w3 w20 w31 w17", "w39 w5")
_SMALL = {
    "vocab_size": encoders.VOCABULARY,
    "hidden_size": 24,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 34,
    "initializer_range": 0.3,
}
_TYPES = "sentence_transformers.models."


@dataclass(frozen=True)
class Recipe:
    config: transformers.PretrainedConfig
    architecture: str
    """As config.json says it: the head of a language model has no part in an embedding."""
    pooling: tuple[str, ...]
    dense: tuple[str, ...] = ()
    """Activations of layers after the pooling, classes of `torch.nn`."""
    normalized: bool = True
    base_names: bool = False
    """Whether tensors are stored by the names of the class without a head."""


def _bert(*pooling: str, **more: Any) -> Recipe:
    return Recipe(transformers.BertConfig(**_SMALL), "BertModel", pooling, **more)


def _qwen(**more: Any) -> Recipe:
    config = transformers.Qwen3Config(
        **_SMALL, num_key_value_heads=1, head_dim=8, tie_word_embeddings=True
    )
    return Recipe(config, "Qwen3ForCausalLM", ("lasttoken",), **more)


RECIPES: Mapping[str, Recipe] = {
    "cls": _bert("cls"),
    "max": _bert("max", normalized=False),
    "mean": _bert("mean"),
    "mean of the root": _bert("mean_sqrt_len_tokens"),
    "weighted mean": _bert("weightedmean"),
    "two joined": _bert("mean", "max"),
    "dense": _bert("mean", dense=("Tanh",)),
    "two dense, not normalized": _bert("cls", dense=("GELU", "Identity"), normalized=False),
    "last token of a decoder": _qwen(),
    "last token, names of the base": _qwen(base_names=True),
    "last token and dense": _qwen(dense=("Identity",)),
    "generic": Recipe(
        transformers.MPNetConfig(**_SMALL, pad_token_id=1), "MPNetForMaskedLM", ("mean",)
    ),
}


def save(recipe: Recipe, folder: Path) -> None:
    """Write the checkpoint, its tokenizer and the files of sentence-transformers."""
    torch.manual_seed(4)
    model = getattr(transformers, recipe.architecture)(recipe.config).eval()
    (model.base_model if recipe.base_names else model).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps({**config, "architectures": [recipe.architecture]})
    )
    modules = ["Transformer", "Pooling", *["Dense"] * len(recipe.dense)]
    modules += ["Normalize"] * recipe.normalized
    listed = [
        {"idx": n, "name": str(n), "type": _TYPES + kind, "path": f"{n}_{kind}" if n else ""}
        for n, kind in enumerate(modules)
    ]
    write(folder / "modules.json", listed)
    width = recipe.config.hidden_size
    pooling = {"word_embedding_dimension": width, "pooling_mode": list(recipe.pooling)}
    write(folder / "1_Pooling" / "config.json", pooling)
    width *= len(recipe.pooling)
    for number, activation in enumerate(recipe.dense, 2):
        here = folder / f"{number}_Dense"
        layer = {"in_features": width, "out_features": 10, "bias": number == 2}
        layer["activation_function"] = f"torch.nn.modules.activation.{activation}"
        if activation == "Identity":
            layer["activation_function"] = "torch.nn.modules.linear.Identity"
        write(here / "config.json", layer)
        tensors = {"linear.weight": torch.randn(10, width), "linear.bias": torch.randn(10)}
        kept = {name: t for name, t in tensors.items() if layer["bias"] or name.endswith("weight")}
        save_file(kept, here / "model.safetensors")
        width = 10
    write(folder / "sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})
    write(folder / "config_sentence_transformers.json", {"prompts": {"query": "w11 w12 "}})
    save_tokenizer(folder)


def write(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


def save_tokenizer(folder: Path) -> None:
    model = tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, "<unk>")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    # As Qwen3-Embedding: each text ends with a token of its own.
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A <end>", special_tokens=[("<end>", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
    }
    write(folder / "tokenizer_config.json", settings)


def build(checkpoint: Path, folder: Path, dtype: str = "float32") -> Path:
    """The graph of the build's own steps."""
    beside = [p for p in checkpoint.rglob("*.json") if p.parent != checkpoint]
    beside += [checkpoint / "modules.json", *checkpoint.glob("*_Dense/model.safetensors")]
    return encoders.build(checkpoint, folder, "feature-extraction", dtype, beside)


def embed(graph: Path, rows: list[list[int]]) -> NDArray[np.float32]:
    """Of padded rows together, in ONNX Runtime."""
    longest = max(map(len, rows))
    ids = np.array([[*row, *[0] * (longest - len(row))] for row in rows])
    mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"input_ids": ids, "attention_mask": mask})[0])


def rows_of(checkpoint: Path, prompt: str = "") -> list[list[int]]:
    tokenizer = tokenizers.Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    return [list(tokenizer.encode(prompt + line).ids) for line in LINES]

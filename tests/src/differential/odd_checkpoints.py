"""Draws small checkpoints whose configs are odd, and writes them as the hub lays them out.

Every field that some reader of configs reads may be there, in its old and its new spelling, with
values that agree or do not; weights are seeded. Nothing here knows what the exporters take.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from hypothesis import strategies as st
from safetensors.torch import save_file

CLASSES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
STORED = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class OddCheckpoint:
    config: dict[str, Any]
    seed: int
    stored: str = "float32"
    """Dtype of the tensors; `mixed` has norms in float32 and the rest in bfloat16."""
    names: str = "class"
    """`class`, `base` (no prefix) or `mixed`."""
    head: str = "config"
    """`config`, `stored` (also where it is tied) or `only` (no embedding)."""
    shards: int = 1
    has_index: bool = False


@st.composite
def odd_checkpoints(draw: st.DrawFn, families: tuple[str, ...] = tuple(CLASSES)) -> OddCheckpoint:
    family = draw(st.sampled_from(families))
    config = {"architectures": [CLASSES[family]], "model_type": family}
    config |= draw(sizes())
    config |= draw(positions(config["max_position_embeddings"]))
    config |= draw(windows(config["num_hidden_layers"]))
    config |= draw(flags())
    config |= draw(foreign())
    return OddCheckpoint(
        config,
        seed=draw(st.integers(0, 2**31)),
        stored=draw(st.sampled_from(["float32", "float32", "bfloat16", "float16", "mixed"])),
        names=draw(st.sampled_from(["class", "class", "base", "mixed"])),
        head=draw(st.sampled_from(["config", "config", "stored", "only"])),
        shards=draw(st.sampled_from([1, 1, 2])),
        has_index=draw(st.booleans()),
    )


@st.composite
def sizes(draw: st.DrawFn) -> dict[str, Any]:
    kv_heads = draw(st.sampled_from([1, 2, 3]))
    heads = kv_heads * draw(st.sampled_from([1, 2, 3]))
    head_dim = draw(st.sampled_from([None, 4, 8, 10, 24]))
    found = {
        "vocab_size": draw(st.integers(40, 70)),
        "hidden_size": heads * draw(st.sampled_from([4, 6, 8, 12])),
        "intermediate_size": draw(st.sampled_from([16, 20, 33])),
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "max_position_embeddings": draw(st.sampled_from([16, 24, 48])),
        "rms_norm_eps": draw(st.sampled_from([1e-6, 1e-5, 0.01])),
    }
    if head_dim is not None or draw(st.booleans()):
        found["head_dim"] = head_dim
    return found


@st.composite
def positions(draw: st.DrawFn, length: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if draw(st.integers(0, 2)) == 0:
        found["rope_theta"] = draw(st.sampled_from([10000.0, 10000.0, 500000.0]))
    spelling = draw(st.sampled_from(["none", "old", "old", "old", "new", "new", "new", "both"]))
    if spelling in ("old", "both"):
        found["rope_scaling"] = draw(rope(length, old=True))
    if spelling in ("new", "both"):
        found["rope_parameters"] = draw(rope(length, old=False))
    if spelling == "both" and draw(st.booleans()):
        found["rope_parameters"] = dict(found["rope_scaling"])
    if draw(st.integers(0, 19)) == 0:
        found["partial_rotary_factor"] = draw(st.sampled_from([0.5, 1.0]))
    if draw(st.integers(0, 19)) == 0:
        found["original_max_position_embeddings"] = draw(st.sampled_from([8, length]))
    return found


@st.composite
def rope(draw: st.DrawFn, length: int, old: bool) -> dict[str, Any]:
    kinds = ["default", "linear", "linear", "llama3", "llama3", "yarn", "yarn", "yarn"]
    kind = draw(st.sampled_from(kinds))
    if draw(st.integers(0, 19)) == 0:
        kind = draw(st.sampled_from(["dynamic", "longrope", "proportional", "made_up"]))
    found: dict[str, Any] = {"type" if old and draw(st.booleans()) else "rope_type": kind}
    if draw(st.integers(0, 2 if old else 1)) == 0:
        found["rope_theta"] = draw(st.sampled_from([10000.0, 500000.0]))
    if kind != "default" or draw(st.integers(0, 9)) == 0:
        found["factor"] = draw(st.sampled_from([0.5, 1.0, 2.0, 4, 32.0]))
    if kind == "llama3":
        found["low_freq_factor"] = draw(st.sampled_from([1.0, 2.0, 4.0]))
        found["high_freq_factor"] = draw(st.sampled_from([4.0, 8.0]))
    if kind in ("llama3", "yarn") and draw(st.booleans()):
        found["original_max_position_embeddings"] = draw(st.sampled_from([8, 16, length]))
    if kind == "longrope":
        found |= {"short_factor": [1.0, 1.0], "long_factor": [2.0, 2.0]}
    if kind == "yarn":
        optional = {
            "attention_factor": [None, 0.7, 1],
            "beta_fast": [None, 0, 16, 32],
            "beta_slow": [1, 2.0],
            "mscale": [1.0, 0.7],
            "mscale_all_dim": [0.5, 0],
            "truncate": [True, False],
            "finetuned": [True],
        }
        for name, values in optional.items():
            if draw(st.integers(0, 2)) == 0:
                found[name] = draw(st.sampled_from(values))
    if draw(st.integers(0, 39)) == 0:
        found["mrope_section"] = [1, 1, 2]
    return found


@st.composite
def windows(draw: st.DrawFn, layers: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if draw(st.booleans()):
        found["sliding_window"] = draw(st.sampled_from([None, 1, 3, 5, 100]))
    if draw(st.booleans()):
        found["use_sliding_window"] = draw(st.sampled_from([True, True, False]))
    if draw(st.integers(0, 2)) == 0:
        found["max_window_layers"] = draw(st.integers(0, 3))
    if draw(st.integers(0, 3)) == 0:
        kinds = st.sampled_from(["full_attention", "sliding_attention", "attention"])
        found["layer_types"] = draw(st.lists(kinds, min_size=layers, max_size=layers))
        if draw(st.integers(0, 9)) == 0:
            found["layer_types"].append("full_attention")
    return found


@st.composite
def flags(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, values in {
        "attention_bias": [True, False],
        "mlp_bias": [True, False],
        "tie_word_embeddings": [True, False],
        "hidden_act": ["silu", "silu", "swish", "gelu", "relu", "gelu_pytorch_tanh"],
        "torch_dtype": ["float16", "bfloat16", "float32"],
        "dtype": ["float32", "bfloat16"],
        "attention_dropout": [0.0, 0.1],
        "bos_token_id": [None, 1],
        "eos_token_id": [2, [2, 3]],
        "pad_token_id": [None, 0],
        "use_cache": [False],
    }.items():
        if draw(st.integers(0, 2)) == 0:
            found[name] = draw(st.sampled_from(values))
    return found


@st.composite
def foreign(draw: st.DrawFn) -> dict[str, Any]:
    """Fields of other families: mostly none."""
    if draw(st.integers(0, 5)):
        return {}
    values = {
        "final_logit_softcapping": [None, 30.0],
        "attn_logit_softcapping": [None, 50.0],
        "logits_scaling": [1.0, 8.0],
        "residual_multiplier": [1.0, 0.2],
        "query_pre_attn_scalar": [None, 16],
        "use_qk_norm": [False, True],
        "no_rope_layers": [[], [1, 0]],
        "num_experts": [0, 4],
        "qkv_bias": [False, True],
        "made_up_switch": [False, True, "x", 3],
        "pretraining_tp": [1, 2],
        "rope_interleaved": [False, True],
    }
    name = draw(st.sampled_from(sorted(values)))
    return {name: draw(st.sampled_from(values[name]))}


def write_checkpoint(odd: OddCheckpoint, folder: Path) -> None:
    """Write config.json and the weights; raise what transformers raises for the config."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(odd.config, indent=1))
    family = odd.config["model_type"]
    library = transformers.CONFIG_MAPPING[family].from_dict(json.loads(json.dumps(odd.config)))
    with torch.device("meta"):
        model = getattr(transformers, CLASSES[family])(library)
    tensors = {name: _random(name, value.shape, odd) for name, value in _stored(model, odd)}
    names = sorted(tensors)
    places = {}
    for number in range(odd.shards):
        file = "model.safetensors"
        if odd.shards > 1:
            file = f"model-{number + 1:05}-of-{odd.shards:05}.safetensors"
        held = {_name(n, odd): tensors[n] for n in names[number :: odd.shards]}
        save_file(held, folder / file, metadata={"format": "pt"})
        places.update(dict.fromkeys(held, file))
    if odd.has_index or odd.shards > 1:
        index = {"metadata": {}, "weight_map": places}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def _stored(model: torch.nn.Module, odd: OddCheckpoint) -> list[tuple[str, torch.Tensor]]:
    tied = odd.config.get("tie_word_embeddings") is True
    left_out = set()
    if tied and odd.head == "config":
        left_out = {"lm_head.weight"}
    elif tied and odd.head == "only":
        left_out = {"model.embed_tokens.weight"}
    return [(name, value) for name, value in model.state_dict().items() if name not in left_out]


def _random(name: str, shape: torch.Size, odd: OddCheckpoint) -> torch.Tensor:
    """Untrained norms are ones and biases zeros: mistakes there would not show."""
    generator = torch.Generator().manual_seed(odd.seed ^ (hash_of(name) & 0xFFFF))
    value = torch.randn(shape, generator=generator)
    if "norm" in name:
        value = 1 + 0.3 * value
    elif "embed" in name:
        value = 1.0 * value
    else:
        value = 0.35 * value
    if odd.stored == "mixed":
        return value if "norm" in name else value.to(torch.bfloat16)
    return value.to(STORED[odd.stored])


def hash_of(name: str) -> int:
    """The same in every process."""
    found = 0
    for letter in name.encode():
        found = (found * 131 + letter) % (1 << 30)
    return found


def _name(name: str, odd: OddCheckpoint) -> str:
    if odd.names == "base" or (odd.names == "mixed" and "layers.0." in name):
        return name.removeprefix("model.")
    return name

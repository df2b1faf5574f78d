"""A Qwen3 checkpoint of the size of Qwen3-0.6B with seeded weights: `seeded_checkpoint.py FOLDER`.

Needs numpy alone, so that a host which has the engine can make the weights for itself. The bytes
are the same wherever numpy draws the same numbers; whoever uses them compares their digest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

CONFIG: Mapping[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "eos_token_id": 151645,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "max_position_embeddings": 40960,
    "model_type": "qwen3",
    "num_attention_heads": 16,
    "num_hidden_layers": 28,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000,
    "tie_word_embeddings": True,
    "vocab_size": 151936,
}
SEED = 20260101
PIECE_ELEMENTS = 4 * 1024 * 1024


def tensor_shapes(config: Mapping[str, Any]) -> dict[str, list[int]]:
    hidden, intermediate = config["hidden_size"], config["intermediate_size"]
    query = config["num_attention_heads"] * config["head_dim"]
    key_value = config["num_key_value_heads"] * config["head_dim"]
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], hidden]}
    for layer in range(config["num_hidden_layers"]):
        here = f"model.layers.{layer}"
        shapes |= {
            f"{here}.input_layernorm.weight": [hidden],
            f"{here}.mlp.down_proj.weight": [hidden, intermediate],
            f"{here}.mlp.gate_proj.weight": [intermediate, hidden],
            f"{here}.mlp.up_proj.weight": [intermediate, hidden],
            f"{here}.post_attention_layernorm.weight": [hidden],
            f"{here}.self_attn.k_norm.weight": [config["head_dim"]],
            f"{here}.self_attn.k_proj.weight": [key_value, hidden],
            f"{here}.self_attn.o_proj.weight": [hidden, query],
            f"{here}.self_attn.q_norm.weight": [config["head_dim"]],
            f"{here}.self_attn.q_proj.weight": [query, hidden],
            f"{here}.self_attn.v_proj.weight": [key_value, hidden],
        }
    return dict(sorted({**shapes, "model.norm.weight": [hidden]}.items()))


def write_checkpoint(
    folder: Path, dtype: str, config: Mapping[str, Any] = CONFIG, *, seed: int = SEED
) -> None:
    """A Qwen3 checkpoint with seeded weights: normal with deviation 0.02, norms around 1.

    Laid out as `convert_weights` does it, so that an engine of the same type has the same file.
    """
    folder.mkdir()
    text = json.dumps({**config, "dtype": dtype}, sort_keys=True, indent=2) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")
    shapes = tensor_shapes(config)
    code = {"bfloat16": "BF16", "float16": "F16"}[dtype]
    header, offset = {}, 0
    for name, shape in shapes.items():
        end = offset + 2 * int(np.prod(shape))
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    random = np.random.Generator(np.random.Philox(seed))
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(len(head).to_bytes(8, "little") + head)
        for shape in shapes.values():
            left, mean = int(np.prod(shape)), float(len(shape) == 1)
            while left:
                count = min(left, PIECE_ELEMENTS)
                values = random.standard_normal(count, np.float32) * np.float32(0.02) + mean
                stream.write(_two_bytes(values.astype(np.float32), dtype))
                left -= count


def _two_bytes(values: np.ndarray[Any, np.dtype[np.float32]], dtype: str) -> bytes:
    if dtype == "float16":
        return values.astype("<f2").tobytes()
    # The upper half of a float32 is a bfloat16; cutting the rest is good enough for noise.
    return (values.view(np.uint32) >> 16).astype("<u2").tobytes()


if __name__ == "__main__":
    write_checkpoint(Path(sys.argv[1]), "bfloat16")

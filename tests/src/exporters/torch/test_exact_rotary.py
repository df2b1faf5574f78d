"""Rotary embeddings that depend on no processor stay those of transformers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from enginewright.checkpoint.config import DecoderConfig, parse_config
from enginewright.errors import InputError
from enginewright.exporters.torch.exact_rotary import use_exact_rotary

DEFAULT = {"rope_type": "default", "rope_theta": 10000.0}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 128,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
}
POSITIONS = torch.arange(100)[None].expand(2, -1)


def load(rope: dict[str, Any]) -> tuple[torch.nn.Module, DecoderConfig]:
    document: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": 64,
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-6,
        "vocab_size": 8,
        "rope_parameters": rope,
    }
    config = parse_config(document, "config.json")
    assert isinstance(config, DecoderConfig)
    library_config = transformers.LlamaConfig.from_dict(document)
    return transformers.LlamaForCausalLM(library_config).requires_grad_(False), config


def tables(model: Any) -> Any:
    return torch.stack(model.model.rotary_emb(torch.zeros(1, dtype=torch.float32), POSITIONS))


@pytest.mark.parametrize("rope", [DEFAULT, LLAMA3, YARN], ids=["default", "llama3", "yarn"])
def test_tables_are_those_of_the_library(rope: dict[str, Any]) -> None:
    model, config = load(rope)
    before = tables(model)
    use_exact_rotary(model, config)
    after = tables(model)
    assert after.shape == before.shape == (2, 2, 100, 64)
    # Position 99 times a frequency that was rounded otherwise.
    torch.testing.assert_close(after, before, rtol=0, atol=3e-5)


def test_other_frequencies_than_declared_are_refused() -> None:
    model, _ = load(DEFAULT)
    _, other = load({**DEFAULT, "rope_theta": 20000.0})
    with pytest.raises(InputError, match="other rotary frequencies"):
        use_exact_rotary(model, other)

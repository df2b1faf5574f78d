"""Bytes of each layer against the caches that small models of the transformers library make.

One model for each type of `[compared]` in families.toml, with sizes that no default has. It reads
nine tokens in bfloat16; then its cache has, layer by layer, the elements a token, the bytes of
fixed state and the window that we compute from the config: from what the library saves of it, and
from the few fields that were given, so that our rules and defaults have to say the rest.
"""

import dataclasses
import json
from typing import NamedTuple

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, DynamicCache
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from enginewright.memory.families import rules
from enginewright.memory.model_shape import model_shape

TOKENS = 9
SIZES = {
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "word_embed_proj_dim", "lru_width"), 64),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_dim"), 48),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("shared_intermediate_size", "moe_shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 7),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("attention_heads", "num_experts", "num_local_experts"), 4),
    **dict.fromkeys(("n_routed_experts", "n_mamba_heads", "linear_num_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "num_experts_per_tok", "moe_k"), 2),
    **dict.fromkeys(("sliding_window", "attention_window_size", "attention_chunk_size"), 32),
    **dict.fromkeys(("vocab_size", "vocab_size_per_layer_input"), 96),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 64),
    **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace", "n_shared_experts"), 1),
    **dict.fromkeys(("pad_token_id", "num_nextn_predict_layers", "num_mtp_layers"), 0),
    **dict.fromkeys(("mamba_d_state", "state_size", "ssm_state_size"), 6),
    **dict.fromkeys(("mamba_d_conv", "conv_kernel", "linear_conv_kernel_dim"), 3),
    **dict.fromkeys(("mamba_n_heads", "mamba_num_heads", "hidden_size_per_layer_input"), 8),
    **dict.fromkeys(("mamba_d_head", "mamba_head_dim", "index_head_dim", "kv_lora_rank"), 16),
    **dict.fromkeys(("mamba_n_groups", "n_groups", "mamba_ngroups", "index_n_heads"), 2),
    **{"head_dim": 24, "kv_channels": 24, "q_lora_rank": 20, "qk_rope_head_dim": 8},
    **{"qk_nope_head_dim": 12, "v_head_dim": 10, "index_topk": 4, "bos_token_id": 1},
    **{"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 12},
    **{"linear_value_head_dim": 20, "linear_head_dim": 12, "eos_token_id": 2},
}
"""For each of these fields that a config class has."""
LEFT = None
"""Not given: the library computes it."""
OWN = {
    "codegen": {"rotary_dim": 8},
    "falcon": {"num_kv_heads": LEFT},
    "falcon_h1": {"mamba_d_ssm": 128},
    "gemma3n_text": {"num_hidden_layers": 12, "num_kv_shared_layers": 4},
    "gemma4_text": {
        "num_hidden_layers": 14,
        "num_kv_shared_layers": 4,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
    },
    "gptj": {"rotary_dim": 8},
    "granitemoehybrid": {"layer_types": ["mamba"] * 3 + ["attention"] + ["mamba"] * 3},
    "bamba": {"attn_layer_indices": [2, 5]},
    "helium": {"head_dim": 16},
    "jamba": {"attn_layer_period": 3, "attn_layer_offset": 1},
    "lfm2": {"full_attn_idxs": [1, 4]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] + ["conv"] * 5},
    "longcat_flash": {"num_layers": 3, "head_dim": 8},
    "mamba2": {"num_heads": 8, "head_dim": 16, "expand": 2},
    "nemotron_h": {
        "layers_block_type": ["mamba", "moe", "attention", "mlp", "mamba", "attention", "moe"]
    },
    "qwen2": {"use_sliding_window": True, "max_window_layers": 5},
    "qwen3": {"use_sliding_window": True, "max_window_layers": 3},
    "recurrent_gemma": {"head_dim": LEFT},
    "zamba": {"attn_layer_period": 3, "attn_layer_offset": 1},
    "zamba2": {
        "layers_block_type": ["mamba", "hybrid", "mamba", "mamba", "hybrid", "mamba", "mamba"]
    },
}
DERIVED = {"jetmoe": "its class computes the attention heads from the experts"}
"""Types whose few given fields are not a config as it is published."""


class Kept(NamedTuple):
    """Of one layer: elements a token, bytes of state, window."""

    token_elements: float
    state_bytes: int
    window: int


def given_fields(model_type):
    config_class = CONFIG_MAPPING[model_type]
    fields = {field.name for field in dataclasses.fields(config_class)}
    given = {name: value for name, value in SIZES.items() if name in fields}
    if "kv_lora_rank" in fields:
        given |= {"num_key_value_heads": 4, "head_dim": LEFT}
    given |= OWN.get(model_type, {})
    return {name: value for name, value in given.items() if value is not LEFT}


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value] if value.numel() else []
    items = value.values() if isinstance(value, dict) else value or ()
    return [tensor for item in items for tensor in tensors(item)]


def kept(layer, state):
    """What a layer of a cache, and what stands beside it, holds after `TOKENS` tokens."""
    names = ("keys", "values", "indexer_keys")
    elements = sum(part.numel() for name in names for part in tensors(getattr(layer, name, None)))
    states = [getattr(layer, name, None) for name in ("conv_states", "recurrent_states")]
    size = sum(part.nbytes for part in tensors([*states, state]))
    return Kept(elements / TOKENS, size, getattr(layer, "sliding_window", None) or 0)


def library_cache(config):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    tokens = torch.randint(3, 90, (1, TOKENS))
    with torch.no_grad():
        output = model(input_ids=tokens, use_cache=True)
        cache = output.get("past_key_values")
        cache = output.get("cache_params") if cache is None else cache
        if cache is None:
            cache = DynamicCache(config=config)
            model(input_ids=tokens, use_cache=True, cache=cache)
    states = states_beside(model, cache)
    layers = dict(enumerate(cache.layers))
    return [
        kept(layers.get(number), states.get(number))
        for number in range(config.get_text_config().num_hidden_layers)
    ]


def states_beside(model, cache):
    """MiniMax and RecurrentGemma keep states of layers elsewhere than in the cache's layers."""
    found = dict(enumerate(getattr(cache, "linear_cache", [])))
    for number, layer in enumerate(getattr(model.base_model, "layers", [])):
        block = getattr(layer, "temporal_block", None)
        if hasattr(block, "rg_lru"):
            found[number] = [block.conv1d_state, block.rg_lru.recurrent_states]
    return found


def ours(fields, model_type):
    document = {**json.loads(json.dumps(fields)), "architectures": ["X"], "model_type": model_type}
    shape = model_shape(document, "config.json")
    layers = [
        Kept(layer.token_elements(), layer.state_bytes("bfloat16"), layer.window)
        for layer in shape.layers
    ]
    return shape, layers


@pytest.fixture(autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()


@pytest.mark.parametrize("model_type", rules()["compared"]["types"])
def test_each_layer_keeps_what_the_library_keeps(model_type):
    given = given_fields(model_type)
    config = CONFIG_MAPPING[model_type](**given)
    expected = library_cache(config)
    assert any(layer.token_elements or layer.state_bytes for layer in expected)
    saved = {name: value for name, value in config.to_dict().items() if value != float("inf")}
    shape, layers = ours(json.loads(json.dumps(saved, default=str)), model_type)
    assert layers == expected
    assert shape.exact, shape.doubts
    if model_type not in DERIVED:
        shape, layers = ours(given, model_type)
        assert layers == expected
        assert shape.exact, shape.doubts


def test_types_that_are_compared_or_described_are_in_one_list_only():
    table = rules()
    compared = table["compared"]["types"]
    assert len({*compared}) == len(compared) > 80
    assert not {*compared} & {*table["documented"]}
    assert {*DERIVED, *OWN} <= {*compared}

"""The shapes of the weights against those of the config."""

from enginewright.checkpoint.safetensors_header import TensorInfo
from enginewright.memory.kv_cache import token_bytes
from enginewright.memory.model_shape import model_shape
from enginewright.memory.weight_evidence import with_evidence

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2048,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "vocab_size": 1000,
}


def projections(rows, dtype="BF16", layers=(0, 1), names=("k_proj", "v_proj")):
    return [
        TensorInfo(f"model.layers.{layer}.self_attn.{name}.weight", dtype, (rows, 1024), 0, 0)
        for layer in layers
        for name in names
    ]


def shape(**changes):
    return model_shape({**CONFIG, **changes}, "config.json")


def test_weights_that_agree_change_nothing():
    assert with_evidence(shape(), projections(256)) == shape()


def test_a_head_size_that_was_guessed_gives_way_to_the_rows():
    # 8 heads of 1024 would be 128 each; the weights have 2 KV heads of 192.
    found = with_evidence(shape(), projections(384))
    assert token_bytes(found, "bfloat16") == 2 * 2 * 384 * 2
    (doubt,) = found.doubts
    assert "layer 0 keeps 512 elements a token by config.json, 768 by its projections" in doubt
    assert "1 layers more" in doubt


def test_kv_heads_of_the_config_that_the_weights_do_not_have():
    found = with_evidence(shape(num_key_value_heads=8), projections(256))
    assert token_bytes(found, "bfloat16", 2) == 2 * 2 * 128 * 2
    assert not found.exact


def test_a_latent_width():
    config = shape(model_type="deepseek_v3", kv_lora_rank=512, qk_rope_head_dim=64)
    stored = projections(320, names=("kv_a_proj_with_mqa",))
    assert token_bytes(with_evidence(config, stored), "bfloat16") == 2 * 320 * 2
    agreeing = projections(576, names=("kv_a_proj_with_mqa",))
    assert with_evidence(config, agreeing) == config


def test_rows_settle_a_head_size_that_no_field_says():
    config = shape(model_type="made_up")
    assert config.guesses
    assert with_evidence(config, projections(256)).guesses == ()
    assert with_evidence(config, projections(256, layers=(0,))).guesses


def test_packed_integers_say_nothing():
    assert with_evidence(shape(), projections(32, dtype="I32")) == shape()


def test_a_layer_without_projections_is_said():
    other = TensorInfo("model.layers.1.mixer.in_proj.weight", "BF16", (4096, 1024), 0, 0)
    found = with_evidence(shape(), [*projections(256, layers=(0,)), other])
    assert found.doubts == ("config.json has attention in layers 1, whose weights project no keys",)

"""Reading `config.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from enginewright.checkpoint.config import (
    DecoderConfig,
    EncoderConfig,
    OtherConfig,
    parse_config,
    read_config,
)
from enginewright.checkpoint.layers import Layer
from enginewright.checkpoint.rope import RopeSettings
from enginewright.errors import InputError
from enginewright.families.registry import families

QWEN3: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-6,
    "vocab_size": 100,
    "dtype": "bfloat16",
    "tie_word_embeddings": True,
    "rope_theta": 1000000,
}
BERT: dict[str, Any] = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": 8,
    "intermediate_size": 16,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 32,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "type_vocab_size": 2,
    "vocab_size": 50,
}


def decoder(**changes: Any) -> DecoderConfig:
    config = parse_config({**QWEN3, **changes}, "config.json")
    assert isinstance(config, DecoderConfig)
    return config


def errors(document: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        parse_config(document, "config.json")
    return str(caught.value)


def test_a_decoder_is_read_whole() -> None:
    assert decoder() == DecoderConfig(
        family=families()["qwen3"],
        architecture="Qwen3ForCausalLM",
        dtype="bfloat16",
        vocab_size=100,
        hidden_size=64,
        intermediate_size=96,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=128,
        rms_norm_eps=1e-6,
        hidden_act="silu",
        tie_word_embeddings=True,
        attention_bias=False,
        output_bias=False,
        mlp_bias=False,
        layers=(Layer("full_attention", None),) * 2,
        rope=RopeSettings(theta=1e6),
    )


def test_an_encoder_is_read() -> None:
    config = parse_config(BERT, "config.json")
    assert isinstance(config, EncoderConfig)
    assert (config.type_vocab_size, config.hidden_act, config.dtype) == (2, "gelu", None)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rope_theta": 5e5}, RopeSettings(5e5)),
        ({"rope_theta": None}, RopeSettings(10000.0)),
        (
            {"rope_scaling": {"type": "linear", "factor": 2}},
            RopeSettings(1e6, "linear", 2.0, parameters={"factor": 2}),
        ),
        (
            {
                "rope_theta": None,
                "rope_parameters": {
                    "rope_theta": 500000.0,
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 32768,
                },
            },
            RopeSettings(
                500000.0,
                "yarn",
                4.0,
                32768,
                parameters={"factor": 4.0, "original_max_position_embeddings": 32768},
            ),
        ),
    ],
    ids=["theta", "default", "before-version-5", "version-5"],
)
def test_both_spellings_of_rope(changes: dict[str, Any], expected: RopeSettings) -> None:
    assert decoder(**changes).rope == expected


def test_head_dim_is_declared_or_derived() -> None:
    assert decoder().head_dim == 32
    assert decoder(head_dim=None).head_dim == 128
    llama = decoder(model_type="llama", architectures=["LlamaForCausalLM"], head_dim=None)
    assert llama.head_dim == 16


def test_biases_of_the_families() -> None:
    qwen2 = decoder(model_type="qwen2", architectures=["Qwen2ForCausalLM"])
    assert (qwen2.attention_bias, qwen2.output_bias) == (True, False)
    llama = decoder(model_type="llama", architectures=["LlamaForCausalLM"], attention_bias=True)
    assert (llama.attention_bias, llama.output_bias) == (True, True)


def test_sliding_window_only_where_it_is_used() -> None:
    assert decoder(sliding_window=64).sliding_window is None
    used = decoder(sliding_window=64, use_sliding_window=True, max_window_layers=1)
    assert used.layers == (Layer("full_attention", None), Layer("sliding_attention", 64))
    assert used.sliding_window == 64
    mistral = {"model_type": "mistral", "architectures": ["MistralForCausalLM"]}
    assert decoder(**mistral, sliding_window=64).sliding_window == 64


def test_dtype_has_two_names() -> None:
    assert decoder(dtype=None, torch_dtype="float16").dtype == "float16"
    assert decoder(dtype="torch.float32").dtype == "float32"
    assert decoder(torch_dtype="float16").dtype == "bfloat16"
    assert decoder(dtype="auto").dtype is None


def test_missing_model_type_and_missing_architectures_have_messages_of_their_own() -> None:
    without_type = {name: value for name, value in QWEN3.items() if name != "model_type"}
    text = errors(without_type)
    assert "the config does not say which model family it is" in text
    assert "where:    config.json, `model_type`" in text
    assert "architecture" not in text
    without_class = {name: value for name, value in QWEN3.items() if name != "architectures"}
    text = errors(without_class)
    assert "the config does not say which architecture the weights belong to" in text
    assert "model family" not in text


def test_all_missing_and_wrong_fields_at_once() -> None:
    document = {**QWEN3, "hidden_size": "64", "rms_norm_eps": 0, "tie_word_embeddings": 1}
    del document["vocab_size"], document["num_hidden_layers"], document["model_type"]
    text = errors(document)
    for field in (
        "hidden_size",
        "rms_norm_eps",
        "tie_word_embeddings",
        "vocab_size",
        "num_hidden_layers",
        "model_type",
    ):
        assert f"config.json, `{field}`" in text


@pytest.mark.parametrize(
    ("changes", "where", "expected"),
    [
        ({"num_key_value_heads": 3}, "num_key_value_heads", "a divisor of num_attention_heads, 4"),
        ({"num_key_value_heads": None}, "num_key_value_heads", "a whole number"),
        ({"num_hidden_layers": 2**31 - 1}, "num_hidden_layers", "1 to 4096"),
        ({"hidden_size": True}, "hidden_size", "a whole number"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps", "a number above 0"),
        ({"rope_theta": 10**400}, "rope_theta", "a number above 0"),
        ({"rope_scaling": [1]}, "rope_scaling", "an object"),
        (
            {"rope_scaling": {"type": "linear", "factor": "x"}},
            "rope_scaling.factor",
            "a number above 0",
        ),
        ({"architectures": []}, "architectures", "a list with one class name"),
        ({"architectures": ["BertModel"]}, "architectures", "an architecture of `qwen3`"),
        ({"model_type": 3}, "model_type", "a name such as `bert`"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, Any], where: str, expected: str) -> None:
    text = errors({**QWEN3, **changes})
    assert f"config.json, `{where}`" in text
    assert expected in text


def test_an_unknown_architecture_is_no_error() -> None:
    document = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 8}
    assert parse_config(document, "c") == OtherConfig("gpt2", "GPT2LMHeadModel", None)


def test_a_quantized_checkpoint_is_recognised() -> None:
    assert decoder(quantization_config={"quant_method": "gptq"}).quantized


def test_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        read_config(path)
    path.write_text("{}")
    with pytest.raises(InputError, match=r"config\.json, `architectures`"):
        read_config(path)

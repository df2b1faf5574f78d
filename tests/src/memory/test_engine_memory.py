import pytest

from enginewright.document import decode
from enginewright.errors import InputError
from enginewright.memory.engine_memory import EngineMemoryRequest, engine_memory

QWEN3_0_6B = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 151936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
}
LLAMA_3_8B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
}
MINILM = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "vocab_size": 30522,
    "hidden_size": 384,
    "intermediate_size": 1536,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}


def sizes(config, **parameters):
    request = decode(EngineMemoryRequest, {"dtype": "float16", **parameters}, "parameters")
    return engine_memory(config, "config.json", request).to_json()


@pytest.mark.parametrize(
    ("config", "parameters"),
    # Published counts: 596,049,920; 8,030,261,248; MiniLM without its pooler.
    [(QWEN3_0_6B, 596_049_920), (LLAMA_3_8B, 8_030_261_248), (MINILM, 22_565_376)],
    ids=["qwen3-0.6b", "llama-3-8b", "minilm"],
)
def test_parameters(config, parameters):
    weights = sizes(config)["weights"]
    assert weights["parameters"] == parameters
    assert weights["bytes"] == 2 * parameters
    assert sizes(config, dtype="float32")["weights"]["bytes"] == 4 * parameters


def test_kv_bytes_per_token():
    # 2 * 28 layers * 8 heads * 128 * 2 bytes, and 2 * 32 * 8 * 128 * 2.
    assert sizes(QWEN3_0_6B)["kv_bytes_per_token"] == 114_688
    assert sizes(LLAMA_3_8B)["kv_bytes_per_token"] == 131_072
    assert sizes(MINILM)["kv_bytes_per_token"] == 0


def test_quantized_matrices():
    plain = sizes(QWEN3_0_6B)["weights"]
    quantization = {"method": "int4", "group_size": 32}
    int4 = sizes(QWEN3_0_6B, quantization=quantization)["weights"]
    # 4 bits and a half for each of 32 weights' scale: 4.5 bits of 16.
    assert int4["matrix_bytes"] == plain["matrix_bytes"] * 4.5 / 16
    assert plain["bytes"] - int4["bytes"] == plain["matrix_bytes"] - int4["matrix_bytes"]
    int8 = sizes(QWEN3_0_6B, quantization={"method": "int8"})["weights"]
    assert int8["matrix_bytes"] == pytest.approx(plain["matrix_bytes"] / 2, rel=0.005)


def test_kept_weights_keep_their_size():
    quantization = {"method": "int8", "keep": ["*.mlp.*", "*.self_attn.*"]}
    assert sizes(QWEN3_0_6B, quantization=quantization) == sizes(QWEN3_0_6B)


def test_memory_of_a_profile():
    axes = {"batch": [1, 1, 2], "sequence": [1, 1, 1], "past_sequence": [0, 100, 999]}
    estimated = sizes(QWEN3_0_6B, task="text-generation-with-past", logits="last", profiles=[axes])
    (profile,) = estimated["profiles"]
    assert (profile["batch"], profile["sequence"], profile["past_sequence"]) == (2, 1, 999)
    # Past and present of two rows: 2 * (999 + 1000) tokens.
    assert profile["kv_cache_bytes"] == 2 * 1999 * 114_688
    # int64 ids and positions of 2 tokens, mask of 2 * 1000; logits of 2 rows in float16.
    assert profile["input_output_bytes"] == (4 + 2000) * 8 + 2 * 151936 * 2
    assert profile["device_bytes"] == (
        estimated["engine_bytes"]
        + profile["kv_cache_bytes"]
        + profile["activation_bytes"]
        + profile["input_output_bytes"]
    )


def test_all_logits_of_a_long_sequence_cost_gigabytes():
    profiles = [{"batch": [1, 1, 1], "sequence": [1, 1, 8192]}]
    all_logits = sizes(QWEN3_0_6B, profiles=profiles)["profiles"][0]["input_output_bytes"]
    last = sizes(QWEN3_0_6B, profiles=profiles, logits="last")["profiles"][0]["input_output_bytes"]
    assert all_logits - last == 8191 * 151936 * 2 > 2e9


def test_all_problems_at_once():
    with pytest.raises(InputError) as caught:
        decode(
            EngineMemoryRequest,
            {
                "dtype": "int4",
                "logits": "some",
                "quantization": {"method": "nf4"},
                "profiles": [{"batch": [1, 1, 1]}],
            },
            "parameters",
        )
    assert len(caught.value.problems) == 4
    assert caught.value.problems[3].where == "parameters, profiles[0]"


def test_unknown_architecture():
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}
    with pytest.raises(InputError, match="GPT2LMHeadModel"):
        sizes(config)

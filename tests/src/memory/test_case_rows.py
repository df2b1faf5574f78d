"""Configs of public reports, and others of their kind: bytes a token, or a refusal that says why.

Other families of each kind are run against the library in `test_library_caches.py`.
"""

import pytest

from enginewright.errors import InputError
from enginewright.memory.kv_cache import CacheRequest, sequence_bytes, token_bytes
from enginewright.memory.layer import LayerKind
from enginewright.memory.model_shape import length_problem, model_shape, with_speculation
from enginewright.memory.server_memory import GIB, ServerMemoryRequest, server_memory
from enginewright.memory.server_report import text
from enginewright.memory.weights import Weights

HALF = CacheRequest("bfloat16", "bfloat16")
NONE = Weights(0, 0)
DENSE = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "vocab_size": 65536,
    "torch_dtype": "bfloat16",
}
QWEN3_5 = {
    "model_type": "qwen3_5_text",
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
    "full_attention_interval": 4,
    "head_dim": 256,
    "hidden_size": 5120,
    "intermediate_size": 17408,
    "num_attention_heads": 24,
    "num_hidden_layers": 64,
    "num_key_value_heads": 4,
    "max_position_embeddings": 262144,
    "vocab_size": 248320,
    "dtype": "bfloat16",
}
GEMMA_3_27B = {
    "model_type": "gemma3_text",
    "head_dim": 128,
    "hidden_size": 5376,
    "intermediate_size": 21504,
    "num_attention_heads": 32,
    "num_hidden_layers": 62,
    "num_key_value_heads": 16,
    "query_pre_attn_scalar": 168,
    "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    "sliding_window": 1024,
}


def shape(model_type, config, **outer):
    document = {"architectures": ["X"], "model_type": model_type, **config, **outer}
    return model_shape(document, "config.json")


def nested(model_type, text_config):
    return shape(model_type, {"text_config": text_config})


def report(model, **changes):
    request = ServerMemoryRequest(80 * GIB, dtype="bfloat16", kv_dtype="bfloat16", **changes)
    return text(model, NONE, request, server_memory(model, NONE, request))


def refusal(model_type, **config):
    with pytest.raises(InputError) as caught:
        shape(model_type, {**DENSE, **config})
    return str(caught.value)


def test_row_s1_linear_layers_keep_a_state_and_no_tokens():
    model = nested("qwen3_5", QWEN3_5)
    assert token_bytes(model, "fp8", 2) == 16384
    assert (model.count(LayerKind.LINEAR), model.count(LayerKind.FULL)) == (48, 16)
    assert model.exact
    shown = report(model)
    assert "a token takes exactly 65536 bytes  (16 of 64 layers keep it" in shown
    assert "whatever its length  (the state of 48 layers)" in shown


def test_row_s1_the_interval_alone_says_the_same():
    config = {name: value for name, value in QWEN3_5.items() if name != "layer_types"}
    assert nested("qwen3_5", config).layers == nested("qwen3_5", QWEN3_5).layers


def test_row_s3_jamba_at_256k_takes_4_gib_as_its_paper_says():
    period = {"attn_layer_period": 8, "attn_layer_offset": 4}
    model = shape("jamba", {**DENSE, **period, "max_position_embeddings": 262144})
    assert token_bytes(model, "bfloat16") == 16384
    grown = sequence_bytes(model, 262144, HALF) - sequence_bytes(model, 0, HALF)
    assert grown == 4 * GIB
    assert model.exact


@pytest.mark.parametrize(
    ("model_type", "fields", "expected"),
    [
        (
            "granitemoehybrid",
            {
                "hidden_size": 2048,
                "num_hidden_layers": 40,
                "layer_types": [
                    "attention" if layer in (10, 20, 30, 39) else "mamba" for layer in range(40)
                ],
            },
            8192,
        ),
        (
            "lfm2",
            {
                "hidden_size": 2048,
                "num_hidden_layers": 16,
                "full_attn_idxs": [2, 5, 8, 10, 12, 14],
            },
            12288,
        ),
        # Nemotron-H-8B, as published: 4 of 52 layers attend, 8 KV heads of 128.
        (
            "nemotron_h",
            {
                "num_hidden_layers": 52,
                "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
            },
            16384,
        ),
        # Zamba2 keeps keys and values of twice the hidden size in its hybrid layers.
        (
            "zamba2",
            {
                "hidden_size": 2048,
                "num_hidden_layers": 6,
                "num_key_value_heads": 32,
                "layers_block_type": ["mamba", "hybrid", "mamba", "mamba", "hybrid", "mamba"],
            },
            2 * 2 * 4096 * 2,
        ),
    ],
)
def test_row_s5_lists_and_patterns_of_layers(model_type, fields, expected):
    model = shape(model_type, {**DENSE, **fields})
    assert token_bytes(model, "bfloat16") == expected
    assert model.exact


@pytest.mark.parametrize(
    ("model_type", "fields", "expected"),
    [
        ("gpt_bigcode", {"multi_query": True}, 12288),
        ("gpt_bigcode", {"multi_query": False}, 16 * 12288),
        ("falcon", {"multi_query": True}, 12288),
        ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 4}, 4 * 12288),
        ("mpt", {"attn_config": {"attn_type": "multiquery_attention"}}, 12288),
        ("mpt", {"attn_config": {"kv_n_heads": 2}}, 2 * 12288),
    ],
)
def test_row_s7_kv_heads_under_another_name(model_type, fields, expected):
    names = {"n_embd": 2048, "n_head": 16, "n_layer": 24, "n_inner": 8192, "n_positions": 8192}
    if model_type == "mpt":
        names = {"d_model": 2048, "n_heads": 16, "n_layers": 24, "max_seq_len": 8192}
    model = shape(model_type, {**names, **fields, "vocab_size": 49280})
    assert token_bytes(model, "float16") == expected
    if expected == 12288:
        # https://github.com/lablup/mlxcel/pull/957: "100,663,296" at 8192 tokens.
        assert sequence_bytes(model, 8192, HALF) == 100_663_296


def test_row_s9_multi_query_groups():
    config = {
        "hidden_size": 4096,
        "ffn_hidden_size": 13696,
        "kv_channels": 128,
        "multi_query_attention": True,
        "multi_query_group_num": 2,
        "num_attention_heads": 32,
        "num_layers": 28,
        "padded_vocab_size": 65024,
        "seq_length": 8192,
    }
    assert token_bytes(shape("chatglm", config), "float16") == 28672
    without = shape("chatglm", {**config, "multi_query_attention": False})
    assert token_bytes(without, "float16") == 16 * 28672


def test_row_s11_a_published_config_that_leaves_fields_out():
    model = nested("gemma3", GEMMA_3_27B)
    assert (model.vocab_size, model.length.tokens) == (262208, 131072)
    assert "`vocab_size` 262208" in report(model)
    # Without a model type of its own, as the library: the one of its multimodal class.
    untyped = {name: value for name, value in GEMMA_3_27B.items() if name != "model_type"}
    assert nested("gemma3", untyped).layers == model.layers


def test_row_s11_a_missing_field_of_an_unknown_type_comes_with_advice():
    config = {name: value for name, value in DENSE.items() if name != "vocab_size"}
    with pytest.raises(InputError) as caught:
        shape("made_up", config)
    assert "field `vocab_size` is missing" in str(caught.value)
    assert "add it to config.json" in str(caught.value)


def test_row_s12_a_factor_that_the_length_has_already():
    complete = {**GEMMA_3_27B, "max_position_embeddings": 131072, "vocab_size": 262208}
    model = nested("gemma3", complete)
    assert (model.length.tokens, model.length.source) == (131072, "max_position_embeddings")
    assert length_problem(model, 200000).expected == "at most 131072"


def test_row_s14_shared_layers_and_a_list_of_widths():
    model = nested(
        "gemma3n",
        {
            "model_type": "gemma3n_text",
            "head_dim": 256,
            "hidden_size": 2048,
            "intermediate_size": [16384] * 35,
            "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
            "max_position_embeddings": 32768,
            "num_attention_heads": 8,
            "num_hidden_layers": 35,
            "num_key_value_heads": 2,
            "num_kv_shared_layers": 15,
            "sliding_window": 512,
            "vocab_size": 262400,
        },
    )
    assert token_bytes(model, "bfloat16") == 40960
    assert model.count(LayerKind.SHARED) == 15
    assert model.intermediate_size == 16384
    assert "a token takes at most 40960 bytes  (20 of 35 layers keep it" in report(model)


def test_row_s20_deepseek_v2_lite_of_vllm_issue_15871():
    # "0.95 GiB" at 32768 tokens.
    latent = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_key_value_heads": 16}
    model = shape(
        "deepseek_v2", {**DENSE, **latent, "num_attention_heads": 16, "num_hidden_layers": 27}
    )
    assert token_bytes(model, "bfloat16") == 31104
    assert round(sequence_bytes(model, 32768, HALF) / GIB, 2) == 0.95


@pytest.mark.parametrize(
    ("model_type", "fields", "layers"),
    [
        ("mistral", {"sliding_window": 4096}, 32),
        ("gemma2", {"sliding_window": 4096, "head_dim": 256}, 16),
        ("cohere2", {"sliding_window": 4096, "sliding_window_pattern": 4}, 24),
        ("phi3", {"sliding_window": 2047}, 32),
    ],
)
def test_row_s21_windows_make_an_upper_bound_that_says_so(model_type, fields, layers):
    model = shape(model_type, {**DENSE, **fields})
    assert model.count(LayerKind.SLIDING) == layers
    shown = report(model)
    assert "a token takes at most" in shown
    assert f"because {layers} layers look back {fields['sliding_window']} tokens only" in shown


@pytest.mark.parametrize(
    ("model_type", "said"),
    [
        ("whisper", "encoder-decoder keeps two caches"),
        ("t5", "encoder-decoder keeps two caches"),
        ("bert", "an encoder generates no tokens"),
        ("rwkv", "a state of its own kind"),
    ],
)
def test_row_s21_what_is_no_decoder_is_refused_by_name(model_type, said):
    assert said in refusal(model_type)


def test_row_s21_openelm_has_a_number_of_heads_for_each_layer():
    # https://huggingface.co/apple/OpenELM-270M, the first four layers.
    config = {
        "model_dim": 1280,
        "num_transformer_layers": 4,
        "head_dim": 64,
        "num_query_heads": [12, 12, 12, 16],
        "num_kv_heads": [3, 3, 3, 4],
        "max_context_length": 2048,
        "vocab_size": 32000,
    }
    model = shape("openelm", config)
    assert token_bytes(model, "float16") == 2 * (3 + 3 + 3 + 4) * 64 * 2
    assert model.heads == 4


@pytest.mark.parametrize(
    ("field", "value"),
    [("num_memory_heads", 3), ("window_layers", [1, 2]), ("kv_sharing_stride", 2)],
)
def test_a_field_that_nobody_reads_makes_an_upper_bound_that_names_it(field, value):
    model = shape("llama", {**DENSE, field: value})
    assert model.doubts == (f"`{field}` is not read",)
    assert f"at most, because `{field}` is not read" in report(model)


def test_an_unknown_type_is_an_upper_bound():
    model = shape("made_up", {**DENSE, "head_dim": 128})
    assert "model type `made_up`" in model.doubts[0]
    assert "at most 131072 bytes" in report(model)


def test_a_head_size_that_nothing_says_is_no_bound():
    model = shape("made_up", DENSE)
    assert "a token takes about" in report(model)
    assert not model.exact


def test_a_window_for_each_layer():
    config = {**DENSE, "num_hidden_layers": 4, "head_dim": 128, "sliding_window": [None, 512] * 2}
    assert [layer.window for layer in shape("made_up", config).layers] == [0, 512, 0, 512]
    assert "not a count" in refusal("made_up", sliding_window=[512])


def test_a_kind_of_layer_that_is_not_known_is_refused():
    said = refusal("llama", layer_types=["full_attention"] * 31 + ["holographic"])
    assert "what a layer of this kind keeps is not known" in said
    assert "holographic" in said


def test_a_list_of_kinds_and_a_pattern_that_differ_are_said():
    config = {**QWEN3_5, "full_attention_interval": 8}
    assert "differ" in nested("qwen3_5", config).doubts[0]


def test_searched_architectures_have_a_number_of_groups_for_each_layer():
    # As in nvidia/Llama-3_3-Nemotron-Super-49B-v1: a group of 8 heads, or no attention.
    blocks = [{"attention": {"n_heads_in_group": 8}}, {"attention": {"no_op": True}}] * 16
    config = {**DENSE, "num_key_value_heads": None, "block_configs": blocks}
    assert token_bytes(shape("nemotron-nas", config), "bfloat16") == 16 * 2 * 4 * 128 * 2


def test_row_s16_a_server_that_drafts_keeps_the_cache_of_the_drafting_layers():
    latent = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_nextn_predict_layers": 1}
    model = shape("deepseek_v3", {**DENSE, **latent, "num_key_value_heads": 32})
    assert token_bytes(model, "bfloat16") == 32 * 576 * 2
    assert token_bytes(with_speculation(model), "bfloat16") == 33 * 576 * 2
    assert with_speculation(shape("llama", DENSE)).doubts

"""The numbers of config.json."""

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginewright.errors import InputError
from enginewright.memory.layer import LayerKind
from enginewright.memory.model_shape import length_problem, model_shape, read_model_shape

CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "max_position_embeddings": 8192,
    "vocab_size": 152064,
    "torch_dtype": "bfloat16",
}


def shape(**changes):
    return model_shape({**CONFIG, **changes}, "config.json")


def test_row_25_a_longer_context_than_the_config_names_the_field():
    problem = length_problem(shape(), 131072)
    assert problem.where == "config.json, max_position_embeddings"
    assert (problem.expected, problem.actual) == ("at most 8192", "131072")
    assert length_problem(shape(), 8192) is None


def test_row_25_the_smallest_field_counts():
    limit = shape(seq_length=4096).length
    assert (limit.tokens, limit.source) == (4096, "seq_length")


@pytest.mark.parametrize(
    ("scaling", "tokens"),
    [
        ({"type": "linear", "factor": 4.0}, 32768),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}, 131072),
        ({"rope_type": "llama3", "factor": 8.0}, 8192),
        ({"rope_type": "linear"}, 8192),
        ({"rope_type": "linear", "factor": True}, 8192),
        ({"rope_type": "linear", "factor": float("inf")}, 8192),
    ],
)
def test_row_25_rope_scaling_extends_the_limit_where_its_type_says_so(scaling, tokens):
    assert shape(rope_scaling=scaling).length.tokens == tokens


@pytest.mark.parametrize("field", ["model_type", "architectures"])
def test_row_24_a_config_without_the_field_names_it(field):
    config = {name: value for name, value in CONFIG.items() if name != field}
    with pytest.raises(InputError) as caught:
        model_shape(config, "config.json")
    assert f"field `{field}` is missing" in str(caught.value)
    assert f"config.json, {field}" in str(caught.value)


def test_row_24_both_fields_are_named_at_once():
    with pytest.raises(InputError) as caught:
        model_shape({"vocab_size": 1}, "config.json")
    assert str(caught.value).count("is missing") == 5


def test_multi_head_latent_attention():
    latent = shape(model_type="deepseek_v3", kv_lora_rank=512, qk_rope_head_dim=64)
    assert {layer.token_elements() for layer in latent.layers} == {576}
    assert {layer.latent_width for layer in shape().layers} == {0}


def test_a_text_config_inside_a_multimodal_one():
    inner = {k: v for k, v in CONFIG.items() if k not in ("architectures", "model_type")}
    outer = {"architectures": ["X"], "model_type": "x", "text_config": inner}
    assert model_shape(outer, "config.json").stored_layers == 28


@pytest.mark.parametrize(
    ("changes", "sliding"),
    [
        ({"sliding_window": 4096}, 0),
        ({"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 20}, 8),
        ({"sliding_window": 4096, "model_type": "mistral"}, 28),
        ({"sliding_window": 9, "layer_types": ["sliding_attention", "full_attention"] * 14}, 0),
        (
            {
                "sliding_window": 9,
                "use_sliding_window": True,
                "layer_types": ["sliding_attention", "full_attention"] * 14,
            },
            14,
        ),
        ({"layer_types": ["sliding_attention"] * 28}, 0),
    ],
)
def test_sliding_layers(changes, sliding):
    assert shape(**changes).count(LayerKind.SLIDING) == sliding


@pytest.mark.parametrize("value", [0, -1, 1.5, "8", True, 10**12])
def test_counts_that_are_none(value):
    with pytest.raises(InputError, match="num_hidden_layers"):
        shape(num_hidden_layers=value)


def test_heads_that_do_not_divide():
    with pytest.raises(InputError, match="not a multiple"):
        shape(num_key_value_heads=3)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\xfe{}", b"[1]", b"[" * 100000, b'{"a": 1' + b"0" * 5000 + b"}"]
)
def test_a_config_that_is_no_json(tmp_path, data):
    (tmp_path / "config.json").write_bytes(data)
    with pytest.raises(InputError):
        read_model_shape(tmp_path / "config.json")


JSON = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.lists(st.integers() | st.text(max_size=5), max_size=3)
)
NAMES = [*CONFIG, "head_dim", "sliding_window", "layer_types", "rope_scaling", "kv_lora_rank"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(NAMES), JSON | st.dictionaries(st.text(max_size=6), JSON)))
def test_fuzz_any_config_is_read_or_refused(changes):
    with contextlib.suppress(InputError):
        assert shape(**changes).length.tokens >= 1

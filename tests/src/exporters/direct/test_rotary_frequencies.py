"""Inverse frequencies, by hand where that is possible and else against transformers."""

import numpy as np
import pytest
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from enginewright.errors import InputError
from enginewright.exporters.direct.rotary_frequencies import rotary_embedding


def test_default():
    rotary = rotary_embedding(8, {"rope_theta": 10000.0, "rope_type": "default"}, 1024)
    np.testing.assert_allclose(rotary.inverse_frequencies, [1.0, 0.1, 0.01, 0.001], rtol=1e-6)
    assert rotary.inverse_frequencies.dtype == np.float32
    assert rotary.attention_scaling == 1.0


def test_linear_divides_by_the_factor():
    parameters = {"rope_theta": 10000.0, "rope_type": "linear", "factor": 4.0}
    rotary = rotary_embedding(4, parameters, 1024)
    np.testing.assert_allclose(rotary.inverse_frequencies, [0.25, 0.0025], rtol=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
        {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0},
        {
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 40.0,
            "original_max_position_embeddings": 4096,
            "beta_fast": 16,
            "beta_slow": 2,
            "mscale": 1.0,
            "mscale_all_dim": 0.7,
            "truncate": False,
        },
        {
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 8.0,
            "original_max_position_embeddings": 2048,
            "attention_factor": 1.25,
        },
    ],
    ids=["llama3", "yarn-of-the-whole-context", "yarn-all-fields", "yarn-attention-factor"],
)
def test_scalings_as_in_transformers(parameters):
    config = transformers.LlamaConfig(
        hidden_size=512,
        num_attention_heads=4,
        max_position_embeddings=32768,
        rope_parameters=dict(parameters),
    )
    expected, scaling = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu")
    rotary = rotary_embedding(128, parameters, 32768)
    np.testing.assert_allclose(rotary.inverse_frequencies, expected.numpy(), rtol=2e-6)
    assert rotary.attention_scaling == pytest.approx(scaling)


@pytest.mark.parametrize("kind", ["dynamic", "longrope", "made_up"])
def test_unknown_scaling_is_named(kind):
    with pytest.raises(InputError) as caught:
        rotary_embedding(64, {"rope_theta": 1e4, "rope_type": kind, "factor": 2.0}, 1024)
    (problem,) = caught.value.problems
    assert problem.actual == kind
    assert problem.expected == "default, linear, llama3, yarn"
    assert "no exporter has it" in problem.fix


def test_all_missing_numbers_at_once():
    with pytest.raises(InputError) as caught:
        rotary_embedding(64, {"rope_theta": 1e4, "rope_type": "llama3", "factor": -1}, 1024)
    assert [(problem.where.split("`")[1], problem.actual) for problem in caught.value.problems] == [
        ("factor", "-1"),
        ("high_freq_factor", "no such field"),
        ("low_freq_factor", "no such field"),
    ]


def test_frequencies_in_the_wrong_order_are_refused():
    numbers = {"factor": 2, "low_freq_factor": 4, "high_freq_factor": 1}
    with pytest.raises(InputError, match="no range between its frequencies"):
        rotary_embedding(64, {"rope_theta": 1e4, "rope_type": "llama3", **numbers}, 1024)


def test_a_base_of_one_has_no_logarithm():
    with pytest.raises(InputError, match="a base of 1"):
        rotary_embedding(64, {"rope_theta": 1, "rope_type": "yarn", "factor": 2}, 1024)

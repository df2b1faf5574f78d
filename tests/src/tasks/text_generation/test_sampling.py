import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginewright.errors import InputError
from enginewright.tasks.text_generation.sampling import SamplingSettings, choose_token

LOGITS = np.log(np.array([0.1, 0.5, 0.15, 0.25], np.float32))


def draw(count, **settings):
    chosen = [
        choose_token(LOGITS, SamplingSettings(**settings), row=0, step=step)
        for step in range(count)
    ]
    return np.bincount(chosen, minlength=4) / count


def test_greedy_takes_the_first_of_equals():
    logits = np.array([1.0, 3.0, 3.0], np.float32)
    assert choose_token(logits, SamplingSettings(), row=0, step=0) == 1


def test_temperature_one_follows_the_distribution():
    np.testing.assert_allclose(draw(4000, temperature=1.0), [0.1, 0.5, 0.15, 0.25], atol=0.03)


def test_low_temperature_sharpens():
    # p^2 normalized: 0.01, 0.25, 0.0225, 0.0625 of 0.345.
    np.testing.assert_allclose(draw(4000, temperature=0.5), [0.029, 0.725, 0.065, 0.181], atol=0.03)


def test_top_k():
    frequencies = draw(4000, temperature=1.0, top_k=2)
    np.testing.assert_allclose(frequencies, [0, 2 / 3, 0, 1 / 3], atol=0.03)


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [(0.4, [0, 1, 0, 0]), (0.7, [0, 2 / 3, 0, 1 / 3]), (0.8, [0, 0.5556, 0.1667, 0.2778])],
)
def test_top_p_keeps_the_fewest_that_reach_it(top_p, expected):
    np.testing.assert_allclose(draw(4000, temperature=1.0, top_p=top_p), expected, atol=0.03)


def test_same_seed_same_tokens():
    # Literal, so that a change of the generator or of its use is seen.
    settings = SamplingSettings(temperature=1.0, seed=7)
    tokens = [choose_token(LOGITS, settings, row=0, step=step) for step in range(12)]
    assert tokens == [2, 1, 1, 1, 1, 1, 3, 1, 2, 1, 0, 3]
    other = [choose_token(LOGITS, settings, row=1, step=step) for step in range(12)]
    assert other != tokens
    changed = SamplingSettings(temperature=1.0, seed=8)
    assert tokens != [choose_token(LOGITS, changed, row=0, step=step) for step in range(12)]


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=20),
    st.floats(0.01, 5),
    st.integers(0, 25),
    st.floats(0.01, 1),
    st.integers(0, 2**64 - 1),
)
def test_always_a_token_among_the_allowed(values, temperature, top_k, top_p, seed):
    logits = np.array(values, np.float32)
    settings = SamplingSettings(temperature, top_k, top_p, seed)
    token = choose_token(logits, settings, row=3, step=5)
    assert 0 <= token < len(values)
    if top_k:
        assert (logits > logits[token]).sum() < top_k


def test_all_settings_out_of_range_at_once():
    with pytest.raises(InputError) as caught:
        SamplingSettings(temperature=-1, top_k=-2, top_p=0, seed=-1)
    assert [problem.where for problem in caught.value.problems] == [
        "temperature",
        "top_k",
        "top_p",
        "seed",
    ]

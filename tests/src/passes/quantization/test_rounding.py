import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from enginewright.passes.quantization.rounding import quantize_matrix
from enginewright.passes.quantization.scheme import Scheme

INT8 = Scheme(8, None, ())
INT4 = Scheme(4, 32, ())
HALF = np.dtype(np.float16)


def dequantize(quantized, group_size):
    scales = quantized.scales.astype(np.float32)
    if group_size:
        scales = np.repeat(scales, group_size, axis=0)
    return quantized.integers.astype(np.float32) * scales


def test_multiples_of_a_scale_are_exact():
    integers = np.array([[127, -127], [-3, 64], [0, 1]], np.float32)
    weight = integers * np.array([0.5, 0.25], np.float32)
    quantized = quantize_matrix(weight, INT8, HALF)
    assert quantized.integers.tolist() == [[127, -127], [-3, 64], [0, 1]]
    assert quantized.scales.tolist() == [0.5, 0.25]
    assert quantized.squared_error == 0


def test_each_group_has_its_own_scale():
    weight = np.zeros((64, 1), np.float32)
    weight[:32, 0] = np.arange(32) % 15 - 7  # -7 ... 7
    weight[32:, 0] = 100 * weight[:32, 0]
    quantized = quantize_matrix(weight, INT4, HALF)
    assert quantized.scales.tolist() == [[1.0], [100.0]]
    assert quantized.integers[:32].tolist() == quantized.integers[32:].tolist()
    np.testing.assert_array_equal(dequantize(quantized, 32), weight)


def test_the_range_reaches_minus_eight():
    weight = np.full((32, 1), 1.0, np.float32)
    weight[0] = -8.0
    quantized = quantize_matrix(weight, INT4, HALF)
    assert quantized.integers.min() == -8
    assert quantized.squared_error < 1e-6


def test_zero_group_stays_zero():
    quantized = quantize_matrix(np.zeros((32, 3), np.float32), INT4, HALF)
    assert not quantized.integers.any()
    assert np.isfinite(quantized.scales).all()
    assert (quantized.scales > 0).all()
    assert quantized.squared_sum == 0


def test_clipping_an_outlier_beats_plain_rounding():
    weight = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)
    weight[0] *= 3
    quantized = quantize_matrix(weight, INT4, HALF)
    plain = (np.abs(weight).max(axis=0) / 7).astype(np.float16).astype(np.float32)
    rounded = np.clip(np.rint(weight / plain), -8, 7) * plain
    assert quantized.squared_error < 0.9 * np.square(weight - rounded).sum()


@pytest.mark.parametrize("scale_type", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("scheme", [INT8, INT4, Scheme(4, 128, ())], ids=["int8", "32", "128"])
def test_reported_error_is_that_of_the_stored_values(scheme, scale_type):
    weight = np.random.default_rng(1).normal(0, 0.02, (256, 700)).astype(np.float32)
    quantized = quantize_matrix(weight, scheme, np.dtype(scale_type))
    assert quantized.scales.dtype == scale_type
    restored = dequantize(quantized, scheme.group_size)
    actual = np.square(weight.astype(np.float64) - restored).sum()
    assert quantized.squared_error == pytest.approx(actual, rel=1e-3)
    relative = (actual / np.square(weight.astype(np.float64)).sum()) ** 0.5
    assert relative < (0.02 if scheme.bits == 8 else 0.13)


@settings(max_examples=40, deadline=None)
@given(
    arrays(
        np.float32,
        (32, 2),
        elements=st.floats(-1e4, 1e4, width=32, allow_subnormal=False),
    )
)
def test_no_element_is_off_by_more_than_clipping_allows(weight):
    quantized = quantize_matrix(weight, INT4, np.dtype(np.float32))
    restored = dequantize(quantized, 32)
    largest = np.abs(weight).max(axis=0)
    # The search must never do worse than the plain scale, largest / 7.
    plain = np.where(largest > 0, largest / np.float32(7), 1).astype(np.float32)
    rounded = np.clip(np.rint(weight / plain), -8, 7) * plain
    worst = np.square(weight.astype(np.float64) - rounded).sum()
    found = np.square(weight.astype(np.float64) - restored).sum()
    assert found <= worst * 1.001 + 1e-12

import math

import numpy as np
import pytest

from enginewright.exact_math import cosine_and_sine, log, power


def test_powers() -> None:
    assert power(10000.0, -2, 8) == 0.1
    assert power(2.0, 1, 2) == math.sqrt(2)
    assert power(1000000.0, -63, 64) == pytest.approx(1000000.0 ** (-63 / 64), rel=1e-15)


def test_logarithms() -> None:
    assert log(1.0) == 0.0
    assert log(10.0) == 2.302585092994046
    assert log(math.e) == 1.0


def test_cosine_and_sine() -> None:
    angles = np.concatenate([np.linspace(0, 10, 2001), [1e-9, 710.5, 40959.0, 1.5e6]])
    cosine, sine = cosine_and_sine(angles)
    np.testing.assert_allclose(cosine, [math.cos(angle) for angle in angles], rtol=0, atol=1e-15)
    np.testing.assert_allclose(sine, [math.sin(angle) for angle in angles], rtol=0, atol=1e-15)
    assert (cosine[0], sine[0]) == (1.0, 0.0)


def test_cosine_and_sine_of_a_table() -> None:
    cosine, sine = cosine_and_sine(np.array([[0.0, math.pi / 2], [math.pi, 3 * math.pi / 2]]))
    np.testing.assert_allclose(cosine, [[1, 0], [-1, 0]], atol=1e-15)
    np.testing.assert_allclose(sine, [[0, 1], [0, -1]], atol=1e-15)

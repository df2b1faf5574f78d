"""Functions of real numbers that give the same bits on every processor and with every C library.

numpy, torch and the C library choose their code by the processor's instruction set, and their last
bits differ. Here are decimal numbers, which are computed with integers, and float64 sums and
products, which IEEE 754 defines to the last bit.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

_CONTEXT = Context(prec=40)
# pi / 2 in two parts; the first has 33 bits, so that small multiples of it are exact.
_QUARTER_TURN = float.fromhex("0x1.921fb544p+0")
_QUARTER_TURN_REST = float.fromhex("0x1.0b4611a626331p-34")
_MOST_QUARTER_TURNS = 2.0**20
_COSINE = tuple((-1) ** n / math.factorial(2 * n) for n in range(10))
_SINE = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(10))
"""Taylor series: for angles up to pi / 4 what is left out is below 1e-19."""


def power(base: float, numerator: int, denominator: int) -> float:
    """`base ** (numerator / denominator)`, base above 0."""
    exponent = _CONTEXT.divide(Decimal(numerator), Decimal(denominator))
    return float(_CONTEXT.power(Decimal(base), exponent))


def log(value: float) -> float:
    """Natural logarithm, value above 0."""
    return float(_CONTEXT.ln(Decimal(value)))


def cosine_and_sine(
    angles: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of angles in radians, 0 to 1.6 million, any shape; within 1e-15."""
    turns = np.rint(angles * (2 / math.pi))
    assert turns.max(initial=0.0) < _MOST_QUARTER_TURNS
    rest = (angles - turns * _QUARTER_TURN) - turns * _QUARTER_TURN_REST
    square = rest * rest
    cosine = _polynomial(square, _COSINE)
    sine = rest * _polynomial(square, _SINE)
    quadrant = turns.astype(np.int64) % 4
    choices = [quadrant == number for number in range(4)]
    return (
        np.select(choices, [cosine, -sine, -cosine, sine]),
        np.select(choices, [sine, cosine, -sine, -cosine]),
    )


def _polynomial(x: NDArray[np.float64], coefficients: tuple[float, ...]) -> NDArray[np.float64]:
    result = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result

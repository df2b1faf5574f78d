"""The fields of a `quantized_model`."""

from __future__ import annotations

from typing import Any

import pytest
from known_model import HERE
from pants.engine.target import Target
from pants_enginewright.build_files.build_file import problems_of
from pants_enginewright.models.quantized_model import QuantizeModel
from pants_enginewright.models.targets import QuantizedModelTarget


def quantized(**fields: Any) -> Target:
    return QuantizedModelTarget({"model": ":model", **fields}, HERE)


def scheme(**fields: Any) -> dict[str, Any]:
    return QuantizeModel.create(quantized(**fields)).scheme()


def test_scheme_with_defaults() -> None:
    assert scheme(method="int8") == {
        "method": "int8",
        "group_size": None,
        "keep": ["*embed_tokens*", "*lm_head*"],
    }


def test_scheme_as_written() -> None:
    written = {"method": "int4", "group_size": 64, "keep": ["*.0.*"]}
    assert scheme(**written) == written


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"method": "int4"}, "field `group_size` is required for method 'int4'"),
        ({"method": "int8", "group_size": 32}, "field `group_size` is for method 'int4'"),
        ({"method": "int4", "group_size": 48}, "has value 48; expected one of 32, 64, 128"),
        ({"method": "fp4"}, "has value 'fp4'; expected one of 'int8', 'int4'"),
        ({"method": "int8", "keep": "*"}, "expected a list of patterns of names"),
    ],
)
def test_mistakes_of_a_quantized_model(fields: dict[str, Any], problem: str) -> None:
    (found,) = problems_of(quantized(**fields))
    assert problem in found

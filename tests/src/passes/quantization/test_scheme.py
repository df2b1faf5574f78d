import pytest

from enginewright.document import decode
from enginewright.errors import InputError
from enginewright.passes.quantization.scheme import Scheme, SchemeRequest


def scheme_of(parameters):
    return decode(SchemeRequest, parameters, "parameters").scheme()


def test_int4():
    scheme = scheme_of({"method": "int4", "group_size": 64})
    assert scheme == Scheme(4, 64, ("*embed_tokens*", "*lm_head*"))
    assert (scheme.lowest, scheme.highest) == (-8, 7)


def test_int8():
    scheme = scheme_of({"method": "int8", "keep": []})
    assert scheme == Scheme(8, None, ())
    assert (scheme.lowest, scheme.highest) == (-127, 127)


def test_all_problems_at_once():
    with pytest.raises(InputError) as caught:
        scheme_of({"method": "int4", "group_size": 48, "keep": "lm_head"})
    assert [(p.where, p.actual) for p in caught.value.problems] == [
        ("parameters, group_size", "48"),
        ("parameters, keep", "'lm_head'"),
    ]
    with pytest.raises(InputError, match="one of int8, int4"):
        scheme_of({"method": "fp8"})
    with pytest.raises(InputError, match="no groups"):
        scheme_of({"method": "int8", "group_size": 32})

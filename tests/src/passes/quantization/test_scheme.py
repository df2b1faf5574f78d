import pytest

from enginewright.errors import InputError
from enginewright.passes.quantization.scheme import Scheme


def test_int4():
    scheme = Scheme.decode({"method": "int4", "group_size": 64})
    assert scheme == Scheme(4, 64, ("*embed_tokens*", "*lm_head*"))
    assert (scheme.lowest, scheme.highest) == (-8, 7)


def test_int8():
    scheme = Scheme.decode({"method": "int8", "keep": []})
    assert scheme == Scheme(8, None, ())
    assert (scheme.lowest, scheme.highest) == (-127, 127)


def test_all_problems_at_once():
    with pytest.raises(InputError) as caught:
        Scheme.decode({"method": "int4", "group_size": 48, "keep": "lm_head"})
    assert [(p.where, p.actual) for p in caught.value.problems] == [
        ("parameter `group_size`", "48"),
        ("parameter `keep`", "'lm_head'"),
    ]
    with pytest.raises(InputError, match="int8, int4"):
        Scheme.decode({"method": "fp8"})
    with pytest.raises(InputError, match="no groups"):
        Scheme.decode({"method": "int8", "group_size": 32})

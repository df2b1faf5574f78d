"""A fact is a value or a reason; never zero for unknown."""

import json
from dataclasses import dataclass

import pytest

from enginewright.host.fact import Fact, known, to_json, unknown


def test_unknown_needs_a_reason_and_known_a_value():
    with pytest.raises(ValueError, match="has a value, or a reason"):
        Fact(value=None)
    with pytest.raises(ValueError, match="has a value, or a reason"):
        Fact(value=1, unknown="why")


def test_zero_and_false_are_values():
    assert known(0).known
    assert known(False).known
    assert str(known(0)) == "0"


def test_unknown_stays_unknown():
    fact = unknown("not asked").map(lambda value: value + 1)
    assert (fact.known, str(fact)) == (False, "unknown (not asked)")


def test_json_of_a_tree():
    @dataclass(frozen=True)
    class Leaf:
        size: Fact[int]
        gone: Fact[int]

    document = to_json({"leaves": (Leaf(known(0), unknown("why")),)})
    assert json.loads(json.dumps(document)) == {"leaves": [{"size": 0, "gone": {"unknown": "why"}}]}

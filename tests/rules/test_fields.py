"""What each kind of field accepts, and what it says of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from pants.engine.addresses import Address
from pants.util.frozendict import FrozenDict
from pants_enginewright.build_files.fields import (
    AddressField,
    AddressListField,
    CheckedField,
    ChoiceField,
    FlagField,
    ListField,
    NumberField,
    TextField,
    freeze,
    thaw,
)

HERE = Address("engines", target_name="small")


class Colour(ChoiceField):
    alias = "colour"
    choices = ("red", "green", 1)
    default = "red"


class Level(NumberField):
    alias = "level"
    most = 5


class Share(NumberField):
    alias = "share"
    least = 0.5
    fractional = True


class Flag(FlagField):
    alias = "flag"
    default = False


class Name(TextField):
    alias = "name_of_it"
    required = True


class Source(AddressField):
    alias = "source_of_it"


class Sources(AddressListField):
    alias = "sources_of_it"


class Evens(ListField):
    alias = "evens"
    expected = "a list of strings of even length"

    @staticmethod
    def accepts(item: str) -> bool:
        return len(item) % 2 == 0


def problems(kind: type[CheckedField], value: Any) -> list[str]:
    return list(kind(value, HERE).problems())


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Colour, "green"),
        (Colour, 1),
        (Colour, None),
        (Level, 0),
        (Level, 5),
        (Level, None),
        (Share, 0.5),
        (Share, 1_000_000),
        (Flag, True),
        (Name, "x"),
        (Source, "//a:b"),
        (Sources, ["a:b", ":c"]),
        (Sources, []),
        (Evens, ["ab", "abcd"]),
        (Evens, []),
    ],
)
def test_values_that_are_valid(kind: type[CheckedField], value: Any) -> None:
    assert problems(kind, value) == []


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Colour, "blue", "field `colour` has value 'blue'; expected one of 'red', 'green', 1"),
        (Colour, True, "field `colour` has value True; expected one of 'red', 'green', 1"),
        (Level, 6, "field `level` has value 6; expected an integer of at least 0 and at most 5"),
        (Level, -1, "field `level` has value -1; expected an integer of at least 0 and at most 5"),
        (
            Level,
            True,
            "field `level` has value True; expected an integer of at least 0 and at most 5",
        ),
        (
            Level,
            1.0,
            "field `level` has value 1.0; expected an integer of at least 0 and at most 5",
        ),
        (Share, 0.25, "field `share` has value 0.25; expected a number of at least 0.5"),
        (Share, float("nan"), "field `share` has value nan; expected a number of at least 0.5"),
        (Flag, "yes", "field `flag` has value 'yes'; expected True or False"),
        (Flag, 1, "field `flag` has value 1; expected True or False"),
        (Name, None, "field `name_of_it` is required; expected a string"),
        (Name, "", "field `name_of_it` has value ''; expected a string"),
        (
            Source,
            ["a:b"],
            "field `source_of_it` has value ['a:b']; expected the address of a target",
        ),
        (
            Sources,
            "a:b",
            "field `sources_of_it` has value 'a:b'; expected a list of addresses of targets",
        ),
        (
            Sources,
            ["a:b", 3],
            "field `sources_of_it` has value ['a:b', 3]; expected a list of addresses of targets",
        ),
        (
            Evens,
            ["ab", "abc"],
            "field `evens` has value ['ab', 'abc']; expected a list of strings of even length",
        ),
    ],
)
def test_what_is_said_of_others(kind: type[CheckedField], value: Any, expected: str) -> None:
    assert problems(kind, value) == [expected]


def test_frozen_values_thaw_to_what_was_written() -> None:
    written = [{"batch": [1, 1, 8]}, {"sequence": [1, 128, 1024]}, "x", 3, None]
    frozen = freeze(written)
    assert frozen == (
        FrozenDict({"batch": (1, 1, 8)}),
        FrozenDict({"sequence": (1, 128, 1024)}),
        "x",
        3,
        None,
    )
    assert isinstance(hash(frozen), int)
    assert thaw(frozen) == written

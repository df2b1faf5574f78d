from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest

from enginewright.document import attempt, decode, encode, read
from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.schema import (
    INLINE,
    NOT_EMPTY,
    UNIQUE,
    Count,
    FromText,
    Name,
    Size,
    at_least,
    between,
    form,
    matches,
    named,
    one_of,
)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Release:
    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Release:
        match = re.fullmatch(r"(\d+)\.(\d+)", text)
        if match is None:
            raise InputError(Problem("not a release", expected="13.0", actual=text))
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


ReleaseText = Annotated[Release, FromText(Release.parse)]


@dataclass(frozen=True)
class Item:
    name: Name
    digest: FileDigest = field(metadata=INLINE)
    source: str = field(default="here", metadata=named("from"))


@dataclass(frozen=True)
class Range:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise InputError(
                [Problem("out of order", "low"), Problem("nothing between", "", "low <= high")]
            )


@dataclass(frozen=True)
class Everything:
    format: Literal[2]
    text: str
    integer: int
    number: float
    flag: bool
    path: Path
    color: Color
    release: ReleaseText
    releases: tuple[ReleaseText, ...]
    item: Item
    items: tuple[Item, ...]
    by_name: Mapping[str, Range]
    pair: tuple[int, str]
    dim: int | str
    anything: Any
    maybe: Item | None = None
    later: ReleaseText | None = None
    counts: Annotated[tuple[Count, ...], NOT_EMPTY, UNIQUE] = (1,)
    table: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


ITEM = {"name": "a", "sha256": "ab" * 32, "size": 3}
EVERYTHING = {
    "format": 2,
    "text": "",
    "integer": -1,
    "number": 2,
    "flag": False,
    "path": "a/b",
    "color": "blue",
    "release": "13.0",
    "releases": ["12.8"],
    "item": ITEM,
    "items": [{**ITEM, "from": "there"}],
    "by_name": {"engine.plan": {"low": 1, "high": 2}},
    "pair": [1, "b"],
    "dim": "batch",
    "anything": {"a": [1]},
}


def test_every_kind_of_field_is_decoded() -> None:
    digest = FileDigest("ab" * 32, 3)
    assert decode(Everything, EVERYTHING, "x.json") == Everything(
        format=2,
        text="",
        integer=-1,
        number=2.0,
        flag=False,
        path=Path("a/b"),
        color=Color.BLUE,
        release=Release(13, 0),
        releases=(Release(12, 8),),
        item=Item("a", digest, "here"),
        items=(Item("a", digest, "there"),),
        by_name={"engine.plan": Range(1, 2)},
        pair=(1, "b"),
        dim="batch",
        anything={"a": [1]},
        maybe=None,
        later=None,
        counts=(1,),
        table={},
    )


def test_a_number_is_a_float_though_an_integer_is_written() -> None:
    number = decode(Everything, EVERYTHING, "x.json").number
    assert (number, type(number)) == (2.0, float)


def test_encode_writes_what_decode_reads() -> None:
    given = {
        **EVERYTHING,
        "number": 0.5,
        "item": {**ITEM, "from": "here"},
        "maybe": {**ITEM, "from": "x"},
        "later": "1.2",
        "counts": [3, 1],
        "table": {"a": [0.5]},
    }
    assert encode(decode(Everything, given, "x.json")) == given


def test_encode_writes_null_for_none() -> None:
    written = encode(decode(Everything, EVERYTHING, "x.json"))
    assert (written["maybe"], written["later"]) == (None, None)


def problems_of(kind: type, value: object) -> list[tuple[str, str, str, str]]:
    decoded, problems = attempt(kind, value, "x.json")
    assert decoded is None
    return [(p.what, p.where, p.expected, p.actual) for p in problems]


WRONG = "field has a wrong value"


@pytest.mark.parametrize(
    ("name", "value", "place", "expected", "actual"),
    [
        ("format", 1, "format", "2", "1"),
        ("format", 2.0, "format", "2", "2.0"),
        ("text", None, "text", "a text", "None"),
        ("text", ["a"], "text", "a text", "['a']"),
        ("integer", True, "integer", "an integer", "True"),
        ("integer", 1.0, "integer", "an integer", "1.0"),
        ("integer", "1", "integer", "an integer", "'1'"),
        ("number", float("nan"), "number", "a number", "nan"),
        ("number", float("inf"), "number", "a number", "inf"),
        ("number", False, "number", "a number", "False"),
        ("flag", 0, "flag", "true or false", "0"),
        ("flag", "yes", "flag", "true or false", "'yes'"),
        ("path", "", "path", "a path", "''"),
        ("path", 1, "path", "a path", "1"),
        ("color", "green", "color", "one of red, blue", "'green'"),
        ("color", ["red"], "color", "one of red, blue", "['red']"),
        ("release", 13.0, "release", "a text", "13.0"),
        ("releases", "12.8", "releases", "a list, each item a text", "'12.8'"),
        ("item", [], "item", "an object with name, sha256, size, from", "[]"),
        ("item", {**ITEM, "name": ""}, "item.name", "a text, not empty", "''"),
        ("item", {**ITEM, "size": -1}, "item.size", "an integer, at least 0", "-1"),
        ("item", {**ITEM, "sha256": "AB"}, "item.sha256", "64 lower-case hex digits", "'AB'"),
        (
            "items",
            [ITEM, {**ITEM, "from": 1}],
            "items[1].from",
            "a text",
            "1",
        ),
        ("by_name", {"a": 1}, "by_name.a", "an object with low, high", "1"),
        (
            "by_name",
            {"engine.plan": {"low": "1", "high": 2}},
            'by_name["engine.plan"].low',
            "an integer",
            "'1'",
        ),
        ("by_name", [], "by_name", "an object, each value an object with low, high", "[]"),
        ("pair", [1], "pair", "a list of 2: an integer; a text", "[1]"),
        ("pair", [1, 2], "pair[1]", "a text", "2"),
        ("dim", None, "dim", "an integer or a text", "None"),
        ("dim", True, "dim", "an integer or a text", "True"),
        ("maybe", 1, "maybe", "an object with name, sha256, size, from or null", "1"),
        ("maybe", {**ITEM, "name": 1}, "maybe.name", "a text, not empty", "1"),
        ("later", 1, "later", "a text or null", "1"),
        (
            "counts",
            [],
            "counts",
            "a list, each item an integer, at least 1, not empty, each once",
            "[]",
        ),
        (
            "counts",
            [1, 1],
            "counts",
            "a list, each item an integer, at least 1, not empty, each once",
            "[1, 1]",
        ),
        ("counts", [1, 0], "counts[1]", "an integer, at least 1", "0"),
        ("table", {"a": [1, "x"]}, "table.a[1]", "a number", "'x'"),
    ],
)
def test_a_wrong_value_is_named_with_its_place_and_the_right_form(
    name: str, value: object, place: str, expected: str, actual: str
) -> None:
    assert problems_of(Everything, {**EVERYTHING, name: value}) == [
        (WRONG, f"x.json, {place}", expected, actual)
    ]


def test_what_a_text_is_parsed_to_says_itself_what_is_wrong() -> None:
    given = {**EVERYTHING, "release": "13", "releases": ["12.8", "x"], "later": "y"}
    assert problems_of(Everything, given) == [
        ("not a release", "x.json, release", "13.0", "13"),
        ("not a release", "x.json, releases[1]", "13.0", "x"),
        ("not a release", "x.json, later", "13.0", "y"),
    ]


def test_a_relation_is_checked_where_its_fields_are_right() -> None:
    given = {"a": {"low": 2, "high": 1}, "b": {"low": 2, "high": None}}
    assert problems_of(Everything, {**EVERYTHING, "by_name": given, "flag": 1}) == [
        (WRONG, "x.json, flag", "true or false", "1"),
        ("out of order", "x.json, by_name.a.low", "", ""),
        ("nothing between", "x.json, by_name.a", "low <= high", ""),
        (WRONG, "x.json, by_name.b.high", "an integer", "None"),
    ]


def test_a_relation_of_the_whole_document_has_its_name_as_place() -> None:
    assert problems_of(Range, {"low": 2, "high": 1}) == [
        ("out of order", "x.json, low", "", ""),
        ("nothing between", "x.json", "low <= high", ""),
    ]


def test_missing_and_unknown_fields_are_all_reported() -> None:
    assert problems_of(Item, {"nam": "a", "size": 1, "sha": ""}) == [
        ("unknown field `nam`", "x.json", "one of name, sha256, size, from", ""),
        ("unknown field `sha`", "x.json", "one of name, sha256, size, from", ""),
        ("field `name` is missing", "x.json", "a text, not empty", "nam, sha, size"),
        ("field `sha256` is missing", "x.json", "64 lower-case hex digits", "nam, sha, size"),
    ]


def test_the_name_of_an_attribute_is_unknown_where_the_document_has_another() -> None:
    assert problems_of(Item, {**ITEM, "source": "x"}) == [
        ("unknown field `source`", "x.json", "one of name, sha256, size, from", "")
    ]


def test_a_field_inside_is_reported_with_its_object() -> None:
    assert problems_of(Everything, {**EVERYTHING, "items": [ITEM, {**ITEM, "b": 1}]}) == [
        ("unknown field `b`", "x.json, items[1]", "one of name, sha256, size, from", "")
    ]


@dataclass(frozen=True)
class Foreign:
    OPEN: ClassVar[bool] = True
    name: str


def test_an_open_class_takes_one_field_of_many() -> None:
    assert decode(Foreign, {"name": "a", "theirs": 1}, "x") == Foreign("a")


@dataclass(frozen=True)
class Decoder:
    kind: Literal["decoder"]
    layers: Count


@dataclass(frozen=True)
class Encoder:
    kind: Literal["encoder"]
    pooling: str


@dataclass(frozen=True)
class Network:
    config: Decoder | Encoder


def test_a_union_of_classes_is_told_apart_by_literals() -> None:
    assert decode(Network, {"config": {"kind": "encoder", "pooling": "cls"}}, "x") == Network(
        Encoder("encoder", "cls")
    )
    assert encode(Network(Decoder("decoder", 2))) == {"config": {"kind": "decoder", "layers": 2}}


def test_a_problem_in_a_union_is_that_of_the_class_that_was_meant() -> None:
    assert problems_of(Network, {"config": {"kind": "decoder", "layers": 0}}) == [
        (WRONG, "x.json, config.layers", "an integer, at least 1", "0")
    ]


def test_a_value_that_no_class_of_a_union_claims_gets_all_forms() -> None:
    expected = "an object with kind, layers or an object with kind, pooling"
    assert problems_of(Network, {"config": {"kind": ["decoder"]}}) == [
        (WRONG, "x.json, config", expected, "{'kind': ['decoder']}")
    ]


@dataclass(frozen=True)
class Ruled:
    part: Annotated[float, between(0, 1)] = 0.5
    level: Annotated[int | None, at_least(1)] = None
    table: Annotated[str, one_of(lambda: ("a", "b"))] = "a"
    code: Annotated[str, matches("[a-z]{2}", "two letters")] = "de"
    auto: Literal["auto"] | Size = "auto"


@pytest.mark.parametrize(
    "given",
    [{"part": 0}, {"part": 1.0}, {"level": None}, {"level": 1}, {"table": "b"}, {"auto": 0}],
)
def test_rules_take_what_they_allow(given: dict[str, object]) -> None:
    [(name, value)] = given.items()
    assert getattr(decode(Ruled, given, "x"), name) == value


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("part", 1.5, "a number, 0 to 1"),
        ("level", 0, "an integer or null, at least 1"),
        ("table", "c", "one of a, b"),
        ("code", "de\n", "two letters"),
        ("code", "abc", "two letters"),
        ("auto", "x", "auto or an integer, at least 0"),
        ("auto", -1, "auto or an integer, at least 0"),
    ],
)
def test_rules_say_what_they_allow(name: str, value: object, expected: str) -> None:
    assert problems_of(Ruled, {name: value}) == [(WRONG, f"x.json, {name}", expected, repr(value))]


def test_decode_raises_every_problem_at_once() -> None:
    with pytest.raises(InputError) as caught:
        decode(Ruled, {"part": 2, "code": 1, "more": 0}, "x.json")
    assert [problem.where for problem in caught.value.problems] == [
        "x.json",
        "x.json, part",
        "x.json, code",
    ]


def test_a_document_that_is_no_object_is_refused() -> None:
    assert problems_of(Foreign, [1]) == [(WRONG, "x.json", "an object with name", "[1]")]


def test_a_huge_or_deep_value_is_shown_short() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    for value in (["x" * 10_000], list(range(10_000)), deep, 10**4000):
        [(_, _, _, actual)] = problems_of(Foreign, {"name": value})
        assert len(actual) < 200


def test_an_integer_beyond_the_doubles_is_no_number() -> None:
    assert [where for _, where, _, _ in problems_of(Ruled, {"part": 10**400})] == ["x.json, part"]


def test_read_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "range.json"
    path.write_text('{"low": 1, "high": 2}', encoding="utf-8")
    assert read(Range, path) == Range(1, 2)
    path.write_text('{"low": 1}', encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(str(path))):
        read(Range, path)


@dataclass(frozen=True)
class Unsupported:
    items: set[str]


def test_an_annotation_without_a_form_is_a_defect_of_ours() -> None:
    with pytest.raises(TypeError, match="set"):
        decode(Unsupported, {"items": ["a"]}, "x")
    with pytest.raises(TypeError, match="set"):
        form(set[str])

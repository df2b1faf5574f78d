"""What a step says becomes the dataclass that a rule asks for, or a defect with all its places."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional, Tuple, Union

import pytest
from pants.util.frozendict import FrozenDict
from pants_enginewright.steps.result import ResultFormatError, read_result


@dataclass(frozen=True)
class Axis:
    name: str
    size: int


@dataclass(frozen=True)
class Report:
    title: str
    ratio: float
    axes: Tuple[Axis, ...]
    shape: Tuple[Union[int, str, None], ...]
    files: FrozenDict[str, Axis]
    limit: Optional[Axis]
    extra: Any
    kept: bool = False


DOCUMENT = {
    "title": "t",
    "ratio": 1,
    "axes": [{"name": "batch", "size": 4}],
    "shape": [1, "batch", None],
    "files": {"a": {"name": "x", "size": 1}},
    "limit": None,
    "extra": {"b": [1]},
    "nobody": "asks for this",
}


def read(**changes: Any) -> Report:
    return read_result(Report, json.dumps({**DOCUMENT, **changes}), "models/m:x", "measure")


def test_a_result_is_decoded_by_its_annotations() -> None:
    axis = Axis("batch", 4)
    assert read(limit={"name": "y", "size": 2}) == Report(
        "t",
        1,
        (axis,),
        (1, "batch", None),
        FrozenDict({"a": Axis("x", 1)}),
        Axis("y", 2),
        {"b": [1]},
        False,
    )


def test_all_that_is_wrong_is_named_with_its_place() -> None:
    with pytest.raises(ResultFormatError) as caught:
        read(
            title=None,
            ratio="1",
            axes=[{"name": "batch", "size": True}, "sequence"],
            shape=[1.5],
            files=[],
            limit={"name": "y"},
            kept=0,
        )
    assert str(caught.value) == (
        "models/m:x: step `measure` gave a result that the rules do not understand, a defect of "
        "ours:\n"
        "  `title` is None; expected str\n"
        "  `ratio` is '1'; expected a number\n"
        "  `axes[0].size` is True; expected int\n"
        "  `axes[1]` is 'sequence'; expected an object\n"
        "  `shape[0]` is 1.5; expected int or str or null\n"
        "  `files` is []; expected an object\n"
        "  `limit.size` is missing; expected int\n"
        "  `kept` is 0; expected bool"
    )


def test_a_result_that_lacks_what_is_asked_for() -> None:
    with pytest.raises(ResultFormatError, match="`size` is missing; expected int"):
        read_result(Axis, '{"name": "x"}', "here", "step")


def test_a_result_that_is_no_object() -> None:
    with pytest.raises(ResultFormatError, match="`the result` is 1; expected an object"):
        read_result(Axis, "1", "here", "step")

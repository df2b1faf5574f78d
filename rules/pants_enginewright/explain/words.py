"""An explanation for people."""

from __future__ import annotations

import re
from typing import Any, List, Sequence

from pants_enginewright.explain.difference import Difference
from pants_enginewright.explain.explanation import Cause, Explanation, SeenStep, roots

_PLACES = {"[0]": " min", "[1]": " opt", "[2]": " max"}
_SHORT = 60


def lines(steps: Sequence[SeenStep], explained: Sequence[Explanation], runs_ago: int) -> List[str]:
    """A line a step; under one that is new, what differs; and last, where all of it began.

    `runs_ago` says how long the last change of these steps is ago; 0: it is this run's.
    """
    by_key = {item.step.made.key: item for item in explained}
    told: List[str] = []
    for step in steps:
        told.append(f"{step.name}: {step.source}")
        item = by_key.get(step.made.key)
        if item is not None:
            told += [f"  {text}" for text in _reasons(item)]
    return [*told, "", *_summary(explained, runs_ago)]


def _reasons(item: Explanation) -> List[str]:
    if item.former is None:
        return ["no former result is known"]
    reasons = [cause_in_words(cause) for cause in item.causes]
    if item.former.address != item.step.made.address:
        reasons.insert(0, f"was {item.former.address}")
    if item.causes or reasons:
        return reasons
    return ["its key is that of a former result, which no cache had any more"]


def _summary(explained: Sequence[Explanation], runs_ago: int) -> List[str]:
    if not explained:
        return ["Nothing changed, and nothing ran."]
    begun = [cause_in_words(cause) for cause in roots(explained)]
    if not begun:
        return ["No former result is known of what is new."]
    when = f"Nothing changed in this run. The last change, {runs_ago} runs ago:"
    return [when if runs_ago else "Changed:", *(f"  {text}" for text in dict.fromkeys(begun))]


def cause_in_words(cause: Cause) -> str:
    text = difference_in_words(cause.difference)
    if cause.details:
        text += f" ({cause.details})"
    return text if cause.made_by is None else f"{text}, put out by {cause.made_by}"


def difference_in_words(difference: Difference) -> str:
    before, after = difference.before, difference.after
    if _is_sha256(before) and _is_sha256(after) and difference.part == "parameters":
        return difference.name
    if difference.part == "parameters":
        return f"{_parameter(difference.name)} {_short(before)} -> {_short(after)}"
    if difference.part == "inputs":
        return f"{difference.name}{_change(before, after)}"
    if difference.part == "modules":
        name = difference.name.replace("__library/", "", 1)
        return f"library {name}{_change(before, after)}"
    if difference.part == "wheels":
        return _wheel(difference)
    if difference.part == "python":
        return f"CPython {before} -> {after}"
    return f"{difference.part} {before} -> {after}"


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _parameter(path: str) -> str:
    if path.startswith("profiles[") and path[-3:] in _PLACES:
        return path[:-3] + _PLACES[path[-3:]]
    return path


def _change(before: Any, after: Any) -> str:
    if before is None:
        return ", which is new"
    return ", which is gone" if after is None else ""


def _wheel(difference: Difference) -> str:
    before, after = difference.before, difference.after
    if before is None or after is None:
        version = (before or after)[0]
        return f"wheel {difference.name} {version}{_change(before, after)}"
    if before[0] == after[0]:
        return f"wheel {difference.name} {before[0]}, of other bytes"
    return f"wheel {difference.name} {before[0]} -> {after[0]}"


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."

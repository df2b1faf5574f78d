"""What differs between two steps of one kind, and which former one is the nearest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

from pants_enginewright.steps.made_from import MadeFrom, MadeStep


@dataclass(frozen=True)
class Difference:
    part: str
    """`parameters`, `inputs`, `modules`, `wheels`, `module` or `python`."""
    name: str
    """Path of a parameter or of the file it describes, `ROLE: FILE` of an input, name of a module
    or wheel."""
    before: Any
    """None where there was none."""
    after: Any
    """None where there is none now."""


def differences(before: MadeFrom, after: MadeFrom) -> List[Difference]:
    """All of them, in the order of the parts; none for equal ones."""
    found = [
        Difference(part, "", getattr(before, part), getattr(after, part))
        for part in ("module", "python")
        if getattr(before, part) != getattr(after, part)
    ]
    found += _in_tree("parameters", "", before.parameters, after.parameters)
    found += _in_table("inputs", _by_name(before.inputs), _by_name(after.inputs))
    found += _in_table("modules", before.modules, after.modules)
    found += _in_table("wheels", _by_project(before.wheels), _by_project(after.wheels))
    return found


def nearest(step: MadeStep, former: Sequence[Tuple[int, MadeStep]]) -> Optional[MadeStep]:
    """The former result of the same action that differs least; of several the latest.

    `former` has the number of the latest run of each. Another target's counts only where this one
    has none: it may be this one under its former name.
    """
    candidates = [
        (len(differences(other.made_from, step.made_from)), -run, number)
        for number, (run, other) in enumerate(former)
        if _is_alike(other, step)
    ]
    own = [c for c in candidates if former[c[2]][1].address == step.address]
    best = min(own or candidates, default=(0, 0, -1))
    return None if best[2] < 0 else former[best[2]][1]


def _is_alike(other: MadeStep, step: MadeStep) -> bool:
    kind = (step.action, step.made_from.attempt)
    return (other.action, other.made_from.attempt) == kind and other.key != step.key


def is_file(value: Any) -> bool:
    """Whether a parameter describes a file: its size follows from its content."""
    return isinstance(value, Mapping) and {"sha256", "size"} <= {*value}


def leaves(value: Any, path: str = "") -> Iterator[Tuple[str, Any]]:
    """Path and value of all that is no object and no list."""
    if isinstance(value, Mapping):
        for name in value:
            yield from leaves(value[name], f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, f"{path}[{number}]")
    else:
        yield path, value


def _by_name(inputs: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    return {f"{role}: {path}": sha for role, files in inputs.items() for path, sha in files.items()}


def _by_project(wheels: Mapping[str, str]) -> Mapping[str, Tuple[str, str]]:
    """Project -> version and sha256, from names as `onnx-1.23.2-cp311-...whl`."""
    return {name.split("-")[0]: (name.split("-")[1], sha) for name, sha in wheels.items()}


def _in_table(part: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> List[Difference]:
    return [
        Difference(part, name, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _in_tree(part: str, path: str, before: Any, after: Any) -> Iterator[Difference]:
    if is_file(before) and is_file(after):
        if before["sha256"] != after["sha256"]:
            name = after.get("path", path)
            yield Difference(part, name, before["sha256"], after["sha256"])
        before, after = ({**file, "sha256": "", "size": 0} for file in (before, after))
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            inner = f"{path}.{name}" if path else name
            yield from _in_tree(part, inner, before.get(name), after.get(name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after)):  # noqa: B905 (Python 3.9)
            yield from _in_tree(part, f"{path}[{number}]", old, new)
    elif before != after:
        yield Difference(part, path, before, after)

"""What to export: parameters of the step, validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enginewright.errors import Problem, raise_if_any
from enginewright.exporters.opsets import OPSETS
from enginewright.tasks.registry import TASKS, Task

DTYPES = ("bfloat16", "float16", "float32")
_FIELDS = ("dtype", "dynamic_axes", "opset", "static_axes", "task")


@dataclass(frozen=True)
class ExportSpec:
    """Raises `InputError` with all problems when a value is not allowed."""

    task: str
    """A name of `tasks.registry`."""
    opset: int
    dtype: str
    """Of weights and arithmetic, one of `DTYPES`."""
    dynamic_axes: tuple[str, ...]
    """Axes that stay dynamic in the graph, of those that the task's signature has."""
    static_axes: Mapping[str, int]
    """Sizes of the other axes."""

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        for name, value, allowed in (
            ("task", self.task, sorted(TASKS)),
            ("dtype", self.dtype, DTYPES),
        ):
            if value not in allowed:
                problems.append(_wrong(name, " or ".join(allowed), value))
        if type(self.opset) is not int or self.opset not in OPSETS["torch"]:
            expected = "one of " + ", ".join(map(str, OPSETS["torch"]))
            problems.append(_wrong("opset", expected, self.opset))
        if self.task in TASKS:
            problems.extend(self._axis_problems(TASKS[self.task]))
        for name, size in self.static_axes.items():
            if type(size) is not int or size < 1:
                problems.append(_wrong(f"static_axes.{name}", "a size of at least 1", size))
        raise_if_any(problems)

    def _axis_problems(self, task: Task) -> list[Problem]:
        axes: tuple[str, ...] = task.part("signature").SIGNATURE.axis_names()
        problems = [
            _wrong("dynamic_axes, static_axes", " and ".join(axes), name)
            for name in [*self.dynamic_axes, *self.static_axes]
            if name not in axes
        ]
        for name in axes:
            given = [*self.dynamic_axes, *self.static_axes].count(name)
            if given != 1:
                problems.append(
                    Problem(
                        f"axis `{name}` must be given once",
                        "parameters `dynamic_axes` and `static_axes`",
                        "1",
                        str(given),
                        f'add "{name}" to `dynamic_axes`',
                    )
                )
        return problems

    @classmethod
    def parse(cls, parameters: Mapping[str, Any]) -> ExportSpec:
        """From the parameters of the request; `static_axes` may be absent."""
        problems = [
            Problem("unknown parameter", f"parameter `{name}`", ", ".join(_FIELDS))
            for name in sorted(set(parameters) - set(_FIELDS))
        ]
        problems.extend(
            Problem("missing parameter", f"parameter `{name}`")
            for name in sorted(set(_FIELDS) - {"static_axes"} - set(parameters))
        )
        dynamic = parameters.get("dynamic_axes", [])
        static = parameters.get("static_axes", {})
        if not isinstance(dynamic, list) or not all(isinstance(axis, str) for axis in dynamic):
            problems.append(_wrong("dynamic_axes", "a list of names", dynamic))
        if not isinstance(static, Mapping):
            problems.append(_wrong("static_axes", "an object of sizes by name", static))
        raise_if_any(problems)
        return cls(
            parameters["task"], parameters["opset"], parameters["dtype"], tuple(dynamic), static
        )


def _wrong(name: str, expected: str, actual: object) -> Problem:
    return Problem("a parameter is wrong", f"parameter `{name}`", expected, repr(actual)[:100])

"""Whether a checkpoint can be exported for a task: one list, which every exporter asks."""

from __future__ import annotations

from enginewright.checkpoint.config import Config, DecoderConfig, OtherConfig
from enginewright.checkpoint.rope import ROPE_TYPES
from enginewright.errors import Problem, raise_if_any
from enginewright.families.registry import exportable, families
from enginewright.tasks.registry import TASKS

WHERE = "config.json"


def tasks_of(config: Config) -> tuple[str, ...]:
    """Tasks that a checkpoint of this architecture can be exported for, sorted."""
    classes = {} if isinstance(config, OtherConfig) else config.family.tasks
    named = {task for task, name in classes.items() if name == config.architecture}
    return tuple(sorted({*named, *generic_tasks(config.architecture)}))


def generic_tasks(architecture: str) -> tuple[str, ...]:
    """Those that the torch exporter traces for a class whose family nobody describes."""
    return tuple(name for name, task in TASKS.items() if task.takes(architecture))


def check_exportable(config: Config, task: str) -> None:
    """Raise `InputError` with all reasons why no exporter takes the checkpoint for `task`."""
    raise_if_any(export_problems(config, task))


def export_problems(config: Config, task: str) -> list[Problem]:
    """All reasons why no exporter takes the checkpoint for `task`.

    The classes that a task takes are known where families name it.
    """
    problems = []
    if is_limited(task) and task not in tasks_of(config):
        problems.append(_wrong_class(config, task))
    if config.quantized:
        problems.append(
            Problem(
                "a quantized checkpoint cannot be exported",
                f"{WHERE}, `quantization_config`",
                "weights of float32, float16 or bfloat16",
                fix="export the checkpoint that it was made from, then use `quantized_model`",
            )
        )
    if not isinstance(config, OtherConfig):
        problems.extend(config.unread.problems)
    if isinstance(config, DecoderConfig):
        problems.extend(config.contradictions)
    if isinstance(config, DecoderConfig) and config.rope.rope_type not in ROPE_TYPES:
        problems.append(
            Problem(
                "this rope scaling cannot be exported",
                f"{WHERE}, `rope_type` of `rope_parameters` or `rope_scaling`",
                ", ".join(ROPE_TYPES),
                config.rope.rope_type,
                "no exporter has it; take a checkpoint with one of these scalings",
            )
        )
    return problems


def is_limited(task: str) -> bool:
    """Whether the classes are known that compute it."""
    return bool(exportable(task)) or (task in TASKS and TASKS[task].classes is not None)


def _wrong_class(config: Config, task: str) -> Problem:
    others = tasks_of(config)
    fix = "no exporter has another architecture for this task"
    if others:
        fix += f"; `{config.architecture}` can be exported for {', '.join(others)}"
    elif not isinstance(config, OtherConfig):
        known = families()[config.model_type].tasks
        pairs = ", ".join(f"{name} as `{kind}`" for name, kind in sorted(known.items()))
        fix += f"; of the family `{config.model_type}`: {pairs}"
    return Problem(
        f"a checkpoint of this architecture cannot be exported for {task}",
        f"{WHERE}, `architectures`",
        ", ".join(exportable(task)) or f"a class whose name ends in {TASKS[task].classes}",
        f"`{config.architecture}`",
        fix,
    )

"""`./pants explain TARGET...`: each step of a package or a test, and why it ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.engine.addresses import Address
from pants.engine.console import Console
from pants.engine.goal import Goal, GoalSubsystem, Outputting
from pants.engine.internals.session import RunId
from pants.engine.rules import Get, MultiGet, collect_rules, goal_rule, rule
from pants.engine.target import FilteredTargets, Target
from pants.option.global_options import GlobalOptions

from pants_enginewright.engines import engine
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.engines.targets import EngineOutputPathField
from pants_enginewright.explain import details
from pants_enginewright.explain.details import TellDetails
from pants_enginewright.explain.explanation import Explanation, SeenStep, explain, former_results
from pants_enginewright.explain.history import History, before_last_change
from pants_enginewright.explain.words import lines
from pants_enginewright.goals.record import describe_source
from pants_enginewright.kernels import compilation
from pants_enginewright.kernels.compilation import CompiledCode, CompileRequest
from pants_enginewright.kernels.targets import CodeSourcesField
from pants_enginewright.models import checked_model
from pants_enginewright.models.checked_model import (
    CheckedGraph,
    CheckedWeights,
    CheckGraph,
    CheckWeights,
)
from pants_enginewright.models.onnx_model import OnnxModelRequest
from pants_enginewright.models.targets import ModelOriginField
from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.record import RecordSteps, StepsRecord, describe_step
from pants_enginewright.validation import validation
from pants_enginewright.validation.targets import EngineField, ReproducibleField
from pants_enginewright.validation.validation import Validation, ValidationRequest


class ExplainSubsystem(Outputting, GoalSubsystem):
    name = "explain"
    help = (
        "Build engines, models and tests as `package` and `test` do, and say of each step whether "
        "it ran and, if so, what differs from the nearest result that this repository has seen."
    )


class Explain(Goal):
    subsystem_cls = ExplainSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@dataclass(frozen=True)
class FindSteps:
    target: Target


@dataclass(frozen=True)
class FoundSteps:
    address: Address
    steps: Tuple[ActionResult, ...]


@rule(desc="Find the steps of a target")
async def find_steps(request: FindSteps, run_id: RunId) -> FoundSteps:
    del run_id  # Where the results came from is another answer in each run.
    target = request.target
    address = target.address
    steps: Tuple[ActionResult, ...] = ()
    if target.has_field(EngineOutputPathField):
        built = await Get(Engine, EngineRequest, EngineRequest.by_user(address))
        steps = built.steps
    elif target.has_fields((EngineField, ReproducibleField)):
        tested = await Get(Validation, ValidationRequest, ValidationRequest.by_user(address))
        steps = tested.steps
    elif target.has_field(ModelOriginField):
        named = OnnxModelRequest.by_user(address)
        graph = await Get(CheckedGraph, CheckGraph(named))
        weights = await Get(CheckedWeights, CheckWeights(graph.request))
        steps = (*weights.model.steps, graph.step, weights.step)
    elif target.has_field(CodeSourcesField):
        code = await Get(CompiledCode, CompileRequest, CompileRequest.by_user(address))
        steps = (code.step,)
    await Get(StepsRecord, RecordSteps(address.spec, steps))
    return FoundSteps(address, steps)


@goal_rule
async def explain_targets(
    console: Console,
    subsystem: ExplainSubsystem,
    targets: FilteredTargets,
    options: GlobalOptions,
    run_id: RunId,
) -> Explain:
    # Read before anything runs: what this run makes is no former result.
    history = History.of(options.pants_workdir)
    runs, former = history.runs(), former_results(history)
    found = await MultiGet(Get(FoundSteps, FindSteps(target)) for target in targets)
    results = [*dict.fromkeys(step for item in found for step in item.steps)]
    names = [(step.action, step.address, step.key) for step in results]
    known, ago = before_last_change(runs, names)
    seen = [
        SeenStep(
            result.made_step(),
            describe_source({**describe_step(result, run_id)}),
            result.key not in known.get((result.action, result.address), ()),
        )
        for result in results
    ]
    explained = await MultiGet(
        Get(Explanation, TellDetails(item)) for item in explain(seen, former)
    )
    with subsystem.output(console) as write:
        write("\n".join(lines(seen, explained, ago)) + "\n")
    return Explain(exit_code=0)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *engine.rules(),
        *validation.rules(),
        *compilation.rules(),
        *checked_model.rules(),
        *details.rules(),
    )

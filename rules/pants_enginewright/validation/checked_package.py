"""A package whose manifest and files agree."""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.engines import engine
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.steps.action import (
    ActionFailed,
    ActionInput,
    ActionRequest,
    ActionResult,
)
from pants_enginewright.steps.suspicion import came_from_cache, describe_suspicion

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckPackage:
    address: Address
    """The test that asks."""
    engine: EngineRequest


@dataclass(frozen=True)
class CheckedPackage:
    engine: Engine
    """The one that passed, which may be another than the caches had."""
    text: str
    steps: Tuple[ActionResult, ...]


def plan_package_check(address: Address, engine: Engine) -> ActionRequest:
    room = engine.kind.room
    return ActionRequest.create(
        "check_engine",
        address=address,
        modules=[f"{room}.product"],
        inputs=[ActionInput.of("package", engine.package)],
        parameters={"room": room},
    )


@rule
async def check_package(request: CheckPackage) -> CheckedPackage:
    found = await Get(Engine, EngineRequest, request.engine)
    try:
        step = await Get(ActionResult, ActionRequest, plan_package_check(request.address, found))
    except ActionFailed as failed:
        if not came_from_cache(step.metadata for step in found.steps):
            raise
        logger.warning(describe_suspicion(str(found.address), str(failed)))
        afresh = dataclasses.replace(request.engine, fresh=True)
        again = await Get(Engine, EngineRequest, afresh)
        if again.package == found.package:
            raise
        found = again
        step = await Get(ActionResult, ActionRequest, plan_package_check(request.address, found))
    built = ", ".join(file.path for file in found.built.artifacts.entries)
    text = f"{built}, engine.json and {len(found.package.entries)} files agree\n"
    return CheckedPackage(found, text, (step,))


def rules() -> Iterable[Any]:
    return (*collect_rules(), *engine.rules())

"""`./pants test` for `engine_test` targets."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Iterable, Optional

from pants.core.goals.test import (
    TestFieldSet,
    TestRequest,
    TestResult,
    TestSubsystem,
)
from pants.engine.fs import EMPTY_FILE_DIGEST, EMPTY_SNAPSHOT, Digest, Snapshot
from pants.engine.internals.session import RunId
from pants.engine.process import ProcessResultMetadata
from pants.engine.rules import Get, collect_rules, rule
from pants.util.logging import LogLevel

from pants_enginewright.compat import EnvironmentField
from pants_enginewright.steps import record
from pants_enginewright.steps.action import ActionFailed
from pants_enginewright.steps.record import (
    NotDeterministicError,
    RecordSteps,
    StepsRecord,
    raise_if_not_deterministic,
)
from pants_enginewright.steps.step_outputs import DamagedResultError
from pants_enginewright.subsystems import EnginewrightSubsystem
from pants_enginewright.validation import device_result, validation
from pants_enginewright.validation.benchmark_targets import BatchesField
from pants_enginewright.validation.device_result import TestedOnDevice, TestOnDevice
from pants_enginewright.validation.targets import (
    DeviceField,
    EngineField,
    EngineTestTimeoutField,
    ReproducibleField,
)
from pants_enginewright.validation.validation import Validation, ValidationRequest

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineTestFieldSet(TestFieldSet):
    required_fields = (EngineField, ReproducibleField)

    device: DeviceField
    timeout: EngineTestTimeoutField
    environment: EnvironmentField


class EngineTestRequest(TestRequest):
    tool_subsystem = EnginewrightSubsystem
    field_set_type = EngineTestFieldSet


@dataclass(frozen=True)
class EngineBenchmarkFieldSet(TestFieldSet):
    required_fields = (EngineField, BatchesField)

    timeout: EngineTestTimeoutField
    environment: EnvironmentField


class EngineBenchmarkRequest(TestRequest):
    tool_subsystem = EnginewrightSubsystem
    field_set_type = EngineBenchmarkFieldSet


@rule(desc="Benchmark an engine", level=LogLevel.DEBUG)
async def run_engine_benchmark(
    batch: EngineBenchmarkRequest.Batch[EngineBenchmarkFieldSet, Any],
    test: TestSubsystem,
    run_id: RunId,
) -> TestResult:
    del run_id
    field_set = batch.single_element
    tested = await Get(TestedOnDevice, TestOnDevice(field_set.address))
    return finish_device_test(field_set, test, tested)


@rule(desc="Test an engine", level=LogLevel.DEBUG)
async def run_engine_test(
    batch: EngineTestRequest.Batch[EngineTestFieldSet, Any], test: TestSubsystem, run_id: RunId
) -> TestResult:
    del run_id  # Named so that every run records where its steps' results came from.
    field_set = batch.single_element
    if field_set.device.value is not None:
        return finish_device_test(
            field_set, test, await Get(TestedOnDevice, TestOnDevice(field_set.address))
        )
    request = ValidationRequest.by_user(field_set.address)
    try:
        validation = await Get(Validation, ValidationRequest, request)
    # Another test's result must not be lost, as it would be if the exception went on.
    except ActionFailed as failure:
        return finish_test(field_set, test, 1, "", str(failure), failure.metadata)
    except DamagedResultError as failure:
        return finish_test(field_set, test, 1, "", str(failure), None)
    await Get(StepsRecord, RecordSteps(field_set.address.spec, validation.steps))
    metadata = validation.steps[-1].metadata
    try:
        raise_if_not_deterministic(validation.steps)
    except NotDeterministicError as error:
        return finish_test(field_set, test, 1, "", str(error), metadata)
    snapshot = await Get(Snapshot, Digest, validation.report.digest)
    return finish_test(field_set, test, 0, validation.text, "", metadata, snapshot)


def finish_device_test(
    field_set: TestFieldSet, test: TestSubsystem, tested: TestedOnDevice
) -> TestResult:
    if tested.exit_code is None:
        # NB: what Pants prints of a result without an exit code is nothing at all.
        logger.warning(f"{field_set.address}: SKIPPED, {tested.stderr}")
        return TestResult.no_tests_found(field_set.address, test.output)
    return finish_test(
        field_set,
        test,
        tested.exit_code,
        tested.stdout,
        tested.stderr,
        tested.metadata,
        tested.report,
    )


def finish_test(
    field_set: TestFieldSet,
    test: TestSubsystem,
    exit_code: int,
    stdout: str,
    stderr: str,
    metadata: Optional[ProcessResultMetadata],
    report: Snapshot = EMPTY_SNAPSHOT,
) -> TestResult:
    """`metadata` is that of the step that decided; Pants' summary leaves a test without one out."""
    return TestResult(
        exit_code=exit_code,
        stdout=stdout,
        stdout_digest=EMPTY_FILE_DIGEST,
        stderr=stderr,
        stderr_digest=EMPTY_FILE_DIGEST,
        addresses=(field_set.address,),
        output_setting=test.output,
        result_metadata=metadata,
        extra_output=report,
        log_extra_output=True,
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *EngineBenchmarkRequest.rules(),
        *EngineTestRequest.rules(),
        *device_result.rules(),
        *validation.rules(),
        *record.rules(),
    )

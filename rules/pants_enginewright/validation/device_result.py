"""A test on a device, run where the device is: refused on another, skipped where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional

from pants.engine.addresses import Address
from pants.engine.fs import EMPTY_SNAPSHOT, Digest, Snapshot
from pants.engine.internals.session import RunId
from pants.engine.process import ProcessResultMetadata
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.steps import record
from pants_enginewright.steps.action import ActionFailed, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files
from pants_enginewright.steps.record import RecordSteps, StepsRecord
from pants_enginewright.validation import device_test, local_device
from pants_enginewright.validation.device_test import DeviceTest, DeviceTestKind, DeviceTestRequest
from pants_enginewright.validation.local_device import LocalDevice, LocalDeviceRequest
from pants_enginewright.validation.targets import DeviceField


@dataclass(frozen=True)
class TestOnDevice:
    __test__ = False  # for pytest

    address: Address


@dataclass(frozen=True)
class TestedOnDevice:
    __test__ = False

    exit_code: Optional[int]
    """None where there is no device: skipped, which is no pass."""
    stderr: str
    metadata: Optional[ProcessResultMetadata]
    stdout: str = ""
    report: Snapshot = EMPTY_SNAPSHOT


def describe_refusal(wanted: str, found: str) -> str:
    return (
        f"the test is for another GPU than the one here, and nothing was loaded\n"
        f"  expected:  {wanted}, field `{DeviceField.alias}`\n"
        f"  actual:    {found}\n"
        f"  fix:       run it on a host with that GPU, or carry it to one with `device-kit`"
    )


@rule(desc="Test an engine on its device")
async def test_on_device(request: TestOnDevice, run_id: RunId) -> TestedOnDevice:
    del run_id  # Named so that each run asks for its host's device.
    named = NamedTarget.by_user(request.address)
    found = await Get(TargetOfKind, TargetOfKindRequest, named.of_kind(DeviceTestKind))
    wanted = found.target[DeviceField].value
    device = await Get(LocalDevice, LocalDeviceRequest(request.address))
    if device.name is None:
        return TestedOnDevice(None, f"no {wanted} here: {device.reason}", None)
    if device.name != wanted:
        return TestedOnDevice(1, describe_refusal(wanted, device.name), device.step.metadata)
    asked = DeviceTestRequest(request.address.spec, "the command line", facts=device.facts)
    try:
        test = await Get(DeviceTest, DeviceTestRequest, asked)
        result = await Get(ActionResult, ActionRequest, test.step)
    except ActionFailed as failure:
        return TestedOnDevice(1, str(failure), failure.metadata)
    steps = (device.step, *test.steps, result)
    await Get(StepsRecord, RecordSteps(request.address.spec, steps))
    report = await Get(
        Files, ComposeFiles, ComposeFiles.named(result.files.entries, "report.json", "report.txt")
    )
    snapshot = await Get(Snapshot, Digest, report.digest)
    return TestedOnDevice(0, "", result.metadata, result.log, snapshot)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *device_test.rules(),
        *local_device.rules(),
        *record.rules(),
    )

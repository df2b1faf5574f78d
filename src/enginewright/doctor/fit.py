"""Fifth link: does this engine run on this host?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from enginewright.compatibility.driver import driver_problem
from enginewright.compatibility.product import precisions_on, product_row
from enginewright.compatibility.version import ComputeCapability, Version, try_version
from enginewright.doctor.check import CannotCheckError, Check, Checked, need, run_checks
from enginewright.doctor.cuda import driver_version
from enginewright.doctor.devices import Device, visible_devices
from enginewright.doctor.engine_facts import EngineFacts
from enginewright.doctor.finding import Finding, Link, Severity, Skipped
from enginewright.doctor.fixes import command
from enginewright.doctor.hardware import is_jetson
from enginewright.doctor.kernels import device_checks
from enginewright.host.model import Host


def fit(host: Host, engine: EngineFacts, kernels: Sequence[Path] = ()) -> Checked:
    """Checks of the pair; the host has a GPU and a working driver.

    `kernels` are the folders of the package that hold kernels.
    """
    pair = run_checks(
        [
            Check("driver and engine", Link.APPLICATION, lambda: _driver(host, engine)),
            Check("product version", Link.APPLICATION, lambda: _version(host, engine)),
        ]
    )
    try:
        devices = visible_devices(host).devices
    except CannotCheckError as error:
        skipped = Skipped("device and engine", Link.APPLICATION, str(error))
        return pair + Checked((), (skipped,), (Link.APPLICATION,))
    fits = [
        run_checks([*_device_checks(device, engine), *device_checks(host, device, kernels)])
        for device in devices
    ]
    # One device that runs the engine is enough; what the others lack is then worth a note.
    if any(not _has_error(one.findings) and not one.skipped for one in fits):
        fits = [one if not _has_error(one.findings) else _as_note(one) for one in fits]
    return sum(fits, pair)


def _device_checks(device: Device, engine: EngineFacts) -> list[Check]:
    def memory() -> list[Finding]:
        # Where no code runs, memory is no news.
        return [] if _has_error(_capability(device, engine)) else _memory(device, engine)

    label, link = device.label, Link.APPLICATION
    return [
        Check(f"compute capability of {label}", link, lambda: _capability(device, engine)),
        Check(f"model of {label}", link, lambda: _device(device, engine)),
        Check(f"memory of {label}", link, memory),
    ]


def _has_error(findings: Iterable[Finding]) -> bool:
    return any(finding.severity == Severity.ERROR for finding in findings)


def _as_note(checked: Checked) -> Checked:
    notes = (replace(finding, severity=Severity.NOTE) for finding in checked.findings)
    return replace(checked, findings=tuple(notes))


def _finding(code: str, severity: Severity, seen: str, why: str, fix: str) -> Finding:
    return Finding(code, Link.APPLICATION, severity, seen, why, fix)


def _driver(host: Host, engine: EngineFacts) -> list[Finding]:
    if is_jetson(host):
        raise CannotCheckError("on a Jetson the driver's version is that of JetPack")
    driver = driver_version(host)
    if driver is None:
        raise CannotCheckError(f"the driver's version is unknown: {host.driver.kernel_module}")
    problem = driver_problem(driver, engine.cuda) if try_version(engine.cuda) else None
    reason = problem.what if problem else None
    if engine.minimum_driver is not None and Version.parse(driver) < engine.minimum_driver:
        reason = f"driver {driver} is older than the engine's minimum, {engine.minimum_driver}"
    if reason is None:
        return []
    return [
        _finding(
            "engine.driver-too-old",
            Severity.ERROR,
            reason,
            "the engine's runtime does not start on it",
            command("upgrade_driver", host),
        )
    ]


def _version(host: Host, engine: EngineFacts) -> list[Finding]:
    wanted = engine.version
    if wanted is None:
        return []
    installed = [item for item in host.tensorrt if item.product == engine.product]
    versions = [(try_version(item.version.value), item) for item in installed if item.version.value]
    whole = [(version, item) for version, item in versions if version and len(version.fields) == 4]
    if any(version == wanted for version, _ in whole):
        return [] if all(version == wanted for version, _ in whole) else [_second(wanted)]
    fix = f"install {engine.product} {wanted}; compare all four fields"
    others = whole or [
        (version, item)
        for version, item in versions
        if version and version.fields != wanted.fields[: len(version.fields)]
    ]
    if others:
        seen = ", ".join(f"{version} ({item.where})" for version, item in others)
        return [
            _finding(
                "engine.product-version",
                Severity.ERROR,
                f"the engine is for {engine.product} {wanted}, here is {seen}",
                "an engine loads only where all four version fields are equal",
                fix,
            )
        ]
    what = "with its fourth version field" if installed else "at all"
    return [
        _finding(
            "engine.product-version-unknown",
            Severity.WARNING,
            f"the engine is for {engine.product} {wanted}, which was not found here {what}",
            "the probe sees the loader's path and this Python's packages; the program that serves "
            "may bring its own copy",
            fix,
        )
    ]


def _second(wanted: Version) -> Finding:
    return _finding(
        "engine.second-version",
        Severity.WARNING,
        f"{wanted} is here, and another version of the product too",
        "which one a process loads depends on its search path",
        "remove the other version, or start the program in an environment of its own",
    )


def _capability(device: Device, engine: EngineFacts) -> list[Finding]:
    capability = ComputeCapability.parse(need(device.compute_capability, "compute capability"))
    name = f"{device.label}, has compute capability {capability}"
    row = product_row(engine.product, str(engine.version)) if engine.version else None
    if row is not None and precisions_on(row, capability) is None:
        able = ", ".join(row["precisions"])
        return [
            _finding(
                "engine.product-cannot-run",
                Severity.ERROR,
                f"{name}; {engine.product} {engine.version} cannot run there, whatever the engine "
                f"was built for ({row.name}: {able})",
                "loading it would fail with `The engine cannot run on this GPU`",
                f"run it on a GPU of compute capability {able}, or serve the model on this GPU "
                "with another product",
            )
        ]
    targets = engine.compute_capabilities
    if targets and capability not in targets:
        listed = ", ".join(str(target) for target in targets)
        return [
            _finding(
                "engine.compute-capability",
                Severity.ERROR,
                f"{name}; the engine was built for {listed}",
                "the plan has no code for this GPU",
                f'add "{capability}" to the engine\'s compute_capabilities and build it again',
            )
        ]
    return []


def _device(device: Device, engine: EngineFacts) -> list[Finding]:
    if not engine.device or need(device.name, "the GPU's name") == engine.device:
        return []
    return [
        _finding(
            "engine.other-device",
            Severity.WARNING,
            f"the engine was tuned on {engine.device}, here is {device.label}",
            "it runs where the compute capability is the same, with kernels chosen for the other",
            "build on this model of GPU when speed matters",
        )
    ]


def _memory(device: Device, engine: EngineFacts) -> list[Finding]:
    findings = []
    for profile in engine.memory:
        least = "" if profile.complete else " or more"
        what = (
            f"profile {profile.profile} needs at least {_mib(profile.total)}{least}: plan "
            f"{_mib(profile.plan)}, inputs and outputs {_mib(profile.tensors)}; workspace not "
            "counted"
        )
        total = need(device.memory_total, "its memory")
        if profile.total > total:
            seen = f"{what}; {device.label} has {_mib(total)}"
            severity = Severity.ERROR
        elif profile.total > (free := need(device.memory_free, "its free memory")):
            seen = f"{what}; {device.label} has {_mib(free)} free of {_mib(total)}"
            severity = Severity.WARNING
        else:
            continue
        findings.append(
            _finding(
                "engine.memory",
                severity,
                seen,
                "allocation fails when the engine is loaded or when the profile is used",
                "use a smaller maximum in the profile, weight streaming, a smaller precision, or "
                "free the GPU",
            )
        )
    return findings


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"

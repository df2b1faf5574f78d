"""Fifth link: does this engine run on this host?"""

from __future__ import annotations

from enginewright.compatibility.product import precisions_on, product_row
from enginewright.compatibility.version import ComputeCapability, Version, try_version
from enginewright.doctor.cuda import driver_version, too_old
from enginewright.doctor.engine_facts import EngineFacts
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.host.model import Gpu, Host


def fit_findings(host: Host, engine: EngineFacts) -> list[Finding]:
    """Findings about the pair; the host has a GPU and a working driver."""
    findings = [*_driver(host, engine), *_version(host, engine)]
    gpus = host.gpus.value or ()
    fits = [_gpu(index, gpu, engine) for index, gpu in enumerate(gpus)]
    # One card that runs the engine is enough; the others' findings are then notes.
    able = any(not _has_error(found) for found in fits)
    for found in fits:
        findings += [_as_note(item) for item in found] if able and _has_error(found) else found
    return findings


def _has_error(findings: list[Finding]) -> bool:
    return any(finding.severity == Severity.ERROR for finding in findings)


def _as_note(finding: Finding) -> Finding:
    return Finding(
        finding.code, finding.link, Severity.NOTE, finding.seen, finding.why, finding.fix
    )


def _finding(code: str, severity: Severity, seen: str, why: str, fix: str) -> Finding:
    return Finding(code, Link.APPLICATION, severity, seen, why, fix)


def _driver(host: Host, engine: EngineFacts) -> list[Finding]:
    driver = driver_version(host)
    if driver is None:
        return []
    reason = too_old(driver, engine.cuda) if try_version(engine.cuda) else None
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


def _gpu(index: int, gpu: Gpu, engine: EngineFacts) -> list[Finding]:
    findings = [*_capability(index, gpu, engine), *_device(index, gpu, engine)]
    return findings if _has_error(findings) else [*findings, *_memory(index, gpu, engine)]


def _capability(index: int, gpu: Gpu, engine: EngineFacts) -> list[Finding]:
    if gpu.compute_capability.value is None:
        return []
    capability = ComputeCapability.parse(gpu.compute_capability.value)
    name = f"GPU {index}, {gpu.name}, has compute capability {capability}"
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


def _device(index: int, gpu: Gpu, engine: EngineFacts) -> list[Finding]:
    if not engine.device or gpu.name.value in (None, engine.device):
        return []
    return [
        _finding(
            "engine.other-device",
            Severity.WARNING,
            f"the engine was tuned on {engine.device}, GPU {index} is {gpu.name}",
            "it runs where the compute capability is the same, with kernels chosen for the other",
            "build on this model of GPU when speed matters",
        )
    ]


def _memory(index: int, gpu: Gpu, engine: EngineFacts) -> list[Finding]:
    findings = []
    total, free = gpu.memory_total.value, gpu.memory_free.value
    for need in engine.memory:
        least = "" if need.complete else " or more"
        what = (
            f"profile {need.profile} needs at least {_mib(need.total)}{least}: plan "
            f"{_mib(need.plan)}, inputs and outputs {_mib(need.tensors)}; workspace not counted"
        )
        if total is not None and need.total > total:
            seen = f"{what}; GPU {index} has {_mib(total)}"
            severity = Severity.ERROR
        elif free is not None and need.total > free:
            seen = f"{what}; GPU {index} has {_mib(free)} free of {_mib(total or 0)}"
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

"""Walk the chain for one host, and for one engine on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from enginewright.doctor.check import CannotCheckError, Check, Checked, run_checks
from enginewright.doctor.container import container_checks
from enginewright.doctor.cuda import cuda_checks
from enginewright.doctor.driver import driver_checks
from enginewright.doctor.engine_facts import EngineFacts
from enginewright.doctor.finding import Diagnosis, Finding, Link, Severity, diagnose
from enginewright.doctor.fit import fit
from enginewright.doctor.hardware import (
    NO_GPU,
    NO_GPU_SEEN,
    hardware_checks,
    signs_of_a_gpu,
    silent_sources,
)
from enginewright.doctor.kernels import kernel_findings, kernel_folders
from enginewright.doctor.package import package_findings
from enginewright.host.model import Host

NEEDS_NO_GPU = "This engine runs without a GPU: its package was examined, the way to a GPU was not."


def examine(
    host: Host,
    engine: EngineFacts | None = None,
    folder: Path | None = None,
    tensor_parallel: int | None = None,
) -> Diagnosis:
    """Diagnose a host; with an engine and its folder, whether the engine runs there.

    Findings about the package itself are kept whatever is wrong with the host: they are true
    everywhere.
    """
    package = _package(engine, folder)
    storage = run_checks([Check("storage", Link.APPLICATION, lambda: _storage(host))])
    if engine is not None and engine.runs_without_gpu:
        return replace(_diagnosis(package + storage), summary=NEEDS_NO_GPU)
    if not signs_of_a_gpu(host):
        return _without_gpu(host, engine, package + storage)
    checked = storage + run_checks(
        [
            *hardware_checks(host),
            *driver_checks(host),
            *cuda_checks(host),
            *container_checks(host, tensor_parallel),
        ]
    )
    chain = _diagnosis(checked)
    if chain.broken is not None:
        return replace(
            chain,
            findings=(*chain.findings, *package.findings),
            checks=chain.checks + len(package.links),
        )
    if engine is not None:
        checked += package + fit(host, engine, kernel_folders(folder) if folder else ())
    return _diagnosis(checked)


def _diagnosis(checked: Checked) -> Diagnosis:
    """Checks behind the broken link count neither as done nor as skipped."""
    found = diagnose(checked.findings)
    last = max(Link) if found.broken is None else found.broken
    return replace(
        found,
        checks=sum(link <= last for link in checked.links),
        skipped=tuple(skipped for skipped in checked.skipped if skipped.link <= last),
    )


def _package(engine: EngineFacts | None, folder: Path | None) -> Checked:
    if engine is None or folder is None:
        return Checked()
    folders = kernel_folders(folder)
    checks = [Check("package", Link.APPLICATION, lambda: package_findings(folder, engine))]
    if folders:
        checks.append(Check("kernels", Link.APPLICATION, lambda: kernel_findings(folders)))
    return run_checks(checks)


def _without_gpu(host: Host, engine: EngineFacts | None, checked: Checked) -> Diagnosis:
    signs = run_checks([Check("signs of a GPU", Link.HARDWARE, lambda: _silence(host))])
    checked = signs + checked
    summary = NO_GPU_SEEN if signs.skipped else NO_GPU
    if engine is not None and engine.needs is None:
        # Its manifest cannot be read: nobody knows what it needs.
        return replace(_diagnosis(checked), summary=summary)
    findings = list(checked.findings)
    if engine is not None:
        findings.append(_nowhere_to_run())
    broken = Link.HARDWARE if engine else None
    return Diagnosis(tuple(findings), broken, summary, len(checked.links), checked.skipped)


def _silence(host: Host) -> list[Finding]:
    silent = silent_sources(host)
    if silent:
        raise CannotCheckError("; ".join(silent))
    return []


def _nowhere_to_run() -> Finding:
    return Finding(
        "hardware.no-gpu",
        Link.HARDWARE,
        Severity.ERROR,
        "this host has no NVIDIA GPU",
        "the engine cannot run here; its package was checked all the same",
        "run this on the host that serves, or examine that host from a bundle: "
        "enginewright collect FILE there, enginewright doctor --bundle FILE here",
    )


def _storage(host: Host) -> list[Finding]:
    home_mounts = [path for path in host.network_mounts if path in ("/root", "/home", "/")]
    if not home_mounts:
        return []
    return [
        Finding(
            "storage.network-home",
            Link.APPLICATION,
            Severity.WARNING,
            "home folders are on a network file system: " + ", ".join(home_mounts),
            "the build tool's local store is a memory-mapped database, unsafe there: large results "
            "come back short or not at all",
            "set local_store_dir and named_caches_dir of the build tool to a local disk",
        )
    ]


def lost_inside(outside: Host, inside: Host) -> list[Finding]:
    """Device nodes that the host has and a sandbox or container on it lacks."""
    had = {node.path for node in outside.container.device_nodes.value or ()}
    has = {node.path for node in inside.container.device_nodes.value or ()}
    missing = sorted(had - has)
    if not missing:
        return []
    return [
        Finding(
            "container.devices-hidden",
            Link.CONTAINER,
            Severity.ERROR,
            "outside and not inside: " + ", ".join(missing),
            "the GPU is fine; the sandbox or container hides it. A step that needs it is skipped "
            "with this reason, never passed and never cached",
            "hand the device nodes to the sandbox: --gpus all, or --device for each of them",
        )
    ]

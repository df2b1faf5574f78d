"""Walk the chain for one host, and for one engine on it."""

from __future__ import annotations

from pathlib import Path

from enginewright.doctor.container import container_findings
from enginewright.doctor.cuda import cuda_findings
from enginewright.doctor.driver import driver_findings
from enginewright.doctor.engine_facts import EngineFacts
from enginewright.doctor.finding import Diagnosis, Finding, Link, Severity, diagnose
from enginewright.doctor.fit import fit_findings
from enginewright.doctor.hardware import NO_GPU, hardware_findings, has_gpu
from enginewright.doctor.package import package_findings
from enginewright.host.model import Host


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
    package = package_findings(folder, engine) if engine and folder else []
    if not has_gpu(host):
        findings = [*package, *_storage(host)]
        if engine is not None:
            findings.append(_nowhere_to_run())
        return Diagnosis(tuple(findings), Link.HARDWARE if engine else None, NO_GPU)
    findings = [
        *hardware_findings(host),
        *driver_findings(host),
        *cuda_findings(host),
        *container_findings(host, tensor_parallel),
        *_storage(host),
    ]
    chain = diagnose(findings)
    if chain.broken is not None:
        return Diagnosis((*chain.findings, *package), chain.broken)
    if engine is not None:
        findings += [*package, *fit_findings(host, engine)]
    return diagnose(findings)


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
    had = {node.path for node in outside.container.device_nodes}
    has = {node.path for node in inside.container.device_nodes}
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

"""Packaged kernels: whole, and with code for the device and its driver?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from enginewright.compatibility.device_code import binary_runs, crosses_to_jetson, ptx_runs
from enginewright.compatibility.driver import newest_cuda
from enginewright.compatibility.tables import find
from enginewright.compatibility.toolkit import ptx_problem
from enginewright.compatibility.version import ComputeCapability
from enginewright.doctor.check import CannotCheckError, Check, need
from enginewright.doctor.cuda import driver_version
from enginewright.doctor.devices import Device
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.errors import InputError, Problem
from enginewright.host.model import Host
from enginewright.kernels.check import kernel_problems
from enginewright.kernels.descriptor import FILE_NAME, CompiledSource, read_descriptor


def kernel_folders(package: Path) -> list[Path]:
    """Folders of an engine's package that hold kernels, sorted."""
    return sorted(path.parent for path in package.rglob(FILE_NAME))


def kernel_findings(folders: Iterable[Path]) -> list[Finding]:
    """What is wrong with the kernels themselves, on any host."""
    return [
        _finding("kernels.package", Severity.ERROR, problem)
        for folder in folders
        for problem in kernel_problems(folder)
    ]


def device_checks(host: Host, device: Device, folders: Iterable[Path]) -> list[Check]:
    """Whether each folder has code that the device runs."""
    return [
        Check(
            f"kernels of {folder.name} on {device.label}",
            Link.APPLICATION,
            partial(_device_findings, host, device, folder),
        )
        for folder in folders
    ]


def _device_findings(host: Host, device: Device, folder: Path) -> list[Finding]:
    capability = ComputeCapability.parse(need(device.compute_capability, "compute capability"))
    try:
        sources = read_descriptor(folder / FILE_NAME).sources
    except InputError:
        return []  # `kernels.package` says it.
    return [
        finding
        for source in sources
        for finding in _source_findings(host, device, capability, source)
    ]


def _source_findings(
    host: Host, device: Device, capability: ComputeCapability, source: CompiledSource
) -> list[Finding]:
    runs = [code for code in source.cubins if binary_runs(code.compute_capability, capability)]
    sure = [one for one in runs if not crosses_to_jetson(one.compute_capability, capability)]
    if sure:
        return []
    ptx = source.ptx
    if ptx and ptx_runs(ptx.compute_capability, capability):
        return _ptx_findings(host, device, source.name, ptx.version)
    there = ", ".join(
        [f"cubin {code.compute_capability}" for code in source.cubins]
        + ([f"PTX {ptx.compute_capability}"] if ptx else [])
    )
    what = f"kernels `{source.name}` have {there or 'no code'}; {device.label} is {capability}"
    fix = f'add "{capability}" to the `compute_capabilities` of the kernels, and package again'
    if runs:
        why = "code of desktop GPUs is not promised to run on a Jetson, nor the other way round"
        return [_finding("kernels.other-family", Severity.WARNING, Problem(what, fix=fix), why)]
    return [_finding("kernels.no-code-for-device", Severity.ERROR, Problem(what, fix=fix))]


def _ptx_findings(host: Host, device: Device, source: str, version: str) -> list[Finding]:
    cuda = driver_cuda(host)
    problem = ptx_problem(version, cuda, "the driver")
    if problem is None:
        return []
    what = f"kernels `{source}` have PTX {version} alone for {device.label}: {problem.what}"
    if find("ptx", version) is None:
        return [_finding("kernels.unknown-ptx", Severity.WARNING, Problem(what, fix=problem.fix))]
    why = "the driver compiles PTX of its own CUDA release and older ones only"
    return [_finding("kernels.ptx-too-new", Severity.ERROR, Problem(what, fix=problem.fix), why)]


def driver_cuda(host: Host) -> str:
    """The CUDA release of the driver, by NVML, else by the driver's version and the table."""
    if host.driver.cuda.value is not None:
        return host.driver.cuda.value
    driver = driver_version(host)
    found = newest_cuda(driver) if driver else None
    if found is None:
        raise CannotCheckError(f"the driver's CUDA release is unknown: {host.driver.cuda.unknown}")
    return found.key


_WHY = "the runtime would load other code than was built, or none"


def _finding(code: str, severity: Severity, problem: Problem, why: str = _WHY) -> Finding:
    where = f" ({problem.where})" if problem.where else ""
    said = f": expected {problem.expected}, got {problem.actual}" if problem.actual else ""
    seen = f"{problem.what}{where}{said}"
    return Finding(code, Link.APPLICATION, severity, seen, why, problem.fix)

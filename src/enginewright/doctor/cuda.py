"""Third link: the CUDA libraries that a process would load, against the driver."""

from __future__ import annotations

from enginewright.compatibility.driver import (
    compatibility_package,
    driver_problem,
    minimum_driver,
)
from enginewright.compatibility.version import try_version
from enginewright.doctor.check import CannotCheckError, Check
from enginewright.doctor.driver import is_compatibility_library
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.doctor.hardware import is_jetson
from enginewright.doctor.in_container import in_container
from enginewright.doctor.visibility import visibility_findings
from enginewright.errors import Problem
from enginewright.host.model import Gpu, Host

CONSUMER_NAMES = ("GeForce", "TITAN")


def cuda_checks(host: Host) -> list[Check]:
    """Checks of what CUDA needs, and of runtime libraries and toolkits."""
    checks = [
        Check("libcuda", Link.CUDA, lambda: _libcuda(host)),
        Check("CUDA runtimes and driver", Link.CUDA, lambda: _runtimes(host)),
        Check("CUDA toolkits and driver", Link.CUDA, lambda: _toolkits(host)),
        Check("forward compatibility", Link.CUDA, lambda: _compatibility_library(host)),
        Check("CUDA majors of one Python", Link.CUDA, lambda: _wheel_majors(host)),
        Check("visible devices", Link.CUDA, lambda: visibility_findings(host)),
    ]
    # WSL's libcuda is checked with its driver.
    return checks[1:] if host.container.wsl.value else checks


def _libcuda(host: Host) -> list[Finding]:
    """CUDA itself: the driver's library that every CUDA program loads."""
    if any(library.soname == "libcuda.so.1" for library in host.libraries):
        return []
    if in_container(host):
        # The container's runtime mounts it: `container.driver-libraries`.
        return []
    return [
        Finding(
            "cuda.no-libcuda",
            Link.CUDA,
            Severity.ERROR,
            f"{host.driver.user_space.unknown}",
            "every CUDA program loads libcuda.so.1, which belongs to the driver; that NVML answers "
            "says nothing about it",
            "where the library is on disk, run: sudo ldconfig; else install the driver's compute "
            "libraries: " + command("install_driver", host),
        )
    ]


def driver_version(host: Host) -> str | None:
    """The driver that decides: the kernel module's version, else NVML's, else libcuda's."""
    for fact in (host.driver.kernel_module, host.driver.nvml, host.driver.user_space):
        if fact.value is not None and try_version(fact.value):
            return fact.value
    return None


def _old_driver(host: Host, what: str, cuda: str, severity: Severity) -> list[Finding]:
    if is_jetson(host):
        raise CannotCheckError(
            f"{what}: on a Jetson CUDA comes with JetPack; the table has drivers of x86-64 hosts"
        )
    driver = driver_version(host)
    if driver is None:
        raise CannotCheckError(f"{what}: {host.driver.kernel_module.unknown}")
    reason = driver_problem(driver, cuda)
    if reason is None or is_compatibility_library(host):
        return []
    if minimum_driver(cuda) is None:
        return [_unknown_release(what, reason)]
    package = compatibility_package(cuda)
    other = (
        f"; on a data-center GPU the package {package['package']} also does it"
        if package and not consumer_gpu(host)
        else ""
    )
    return [
        Finding(
            "cuda.driver-too-old",
            Link.CUDA,
            severity,
            f"{what}: {reason.what}",
            "programs of this CUDA release stop with `CUDA driver version is insufficient for CUDA "
            "runtime version`",
            command("upgrade_driver", host) + other,
        )
    ]


def _unknown_release(what: str, problem: Problem) -> Finding:
    return Finding(
        "cuda.unknown-release",
        Link.CUDA,
        Severity.WARNING,
        f"{what}: {problem.what}",
        "which driver it needs is not known here, so nobody can say that this one will do",
        problem.fix,
    )


def _runtimes(host: Host) -> list[Finding]:
    findings = []
    for library in host.libraries:
        if not library.soname.startswith("libcudart.so."):
            continue
        release = library.soname.removeprefix("libcudart.so.")
        if "." not in release:
            # From CUDA 12 on the soname has the major version only; the file name may say more.
            fields = (library.version.value or "").split(".")
            release = ".".join(fields[:2]) if len(fields) > 1 else f"{release}.0"
        findings += _old_driver(host, library.path, release, Severity.ERROR)
    return findings


def _wheel_majors(host: Host) -> list[Finding]:
    """Python packages with runtimes of several CUDA majors: one of them was locked for another."""
    runtimes = [item for item in host.wheel_libraries if item.soname.startswith("libcudart.so.")]
    if len({item.soname.split(".")[2] for item in runtimes}) < 2:
        return []
    return [
        Finding(
            "cuda.wheel-majors",
            Link.CUDA,
            Severity.WARNING,
            "runtimes of several CUDA majors in one Python: "
            + ", ".join(item.path for item in runtimes),
            "packages that were built for different majors do not share memory or libraries; one "
            "of them fails with `libcudart.so.N: cannot open shared object file` elsewhere",
            "lock all packages for one CUDA major",
        )
    ]


def _toolkits(host: Host) -> list[Finding]:
    findings = []
    for toolkit in host.toolkits:
        if toolkit.version.value:
            release = ".".join(toolkit.version.value.split(".")[:2])
            what = f"CUDA toolkit {toolkit.version} in {toolkit.path}"
            findings += _old_driver(host, what, release, Severity.WARNING)
    unknown = [
        f"{one.path}: {one.version.unknown}" for one in host.toolkits if not one.version.known
    ]
    if unknown and not findings:
        raise CannotCheckError("; ".join(unknown))
    return findings


def consumer_gpu(host: Host) -> Gpu | None:
    """The first GPU whose name is that of a consumer card, which has no forward compatibility."""
    for gpu in host.gpus.value or ():
        if gpu.name.value and any(word in gpu.name.value for word in CONSUMER_NAMES):
            return gpu
    return None


def _compatibility_library(host: Host) -> list[Finding]:
    consumer = consumer_gpu(host)
    if not is_compatibility_library(host) or consumer is None:
        return []
    path = next(item.path for item in host.libraries if item.soname == "libcuda.so.1")
    return [
        Finding(
            "cuda.compat-on-consumer-gpu",
            Link.CUDA,
            Severity.ERROR,
            f"a process would load {path}; the GPU is {consumer.name}",
            "forward compatibility works on data-center GPUs only: CUDA answers error 804",
            "take the compat folder out of LD_LIBRARY_PATH and ld.so.conf, and upgrade the driver: "
            + command("upgrade_driver", host),
        )
    ]

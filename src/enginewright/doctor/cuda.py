"""Third link: the CUDA libraries that a process would load, against the driver."""

from __future__ import annotations

from enginewright.compatibility.driver import compatibility_package, minimum_driver, newest_cuda
from enginewright.compatibility.version import Version, try_version
from enginewright.doctor.driver import is_compatibility_library
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.host.model import Gpu, Host

CONSUMER_NAMES = ("GeForce", "TITAN")


def cuda_findings(host: Host) -> list[Finding]:
    """Findings about runtime libraries and toolkits."""
    return [
        *_runtimes(host),
        *_toolkits(host),
        *_compatibility_library(host),
        *_wheel_majors(host),
    ]


def driver_version(host: Host) -> str | None:
    """The driver that decides: the kernel module's version, else NVML's, else libcuda's."""
    for fact in (host.driver.kernel_module, host.driver.nvml, host.driver.user_space):
        if fact.value is not None and try_version(fact.value):
            return fact.value
    return None


def too_old(driver: str, cuda: str) -> str | None:
    """Why the driver does not run CUDA release `cuda`, naming the row; None when it does."""
    requirement = minimum_driver(cuda)
    if requirement is None or Version.parse(driver) >= requirement.minimum:
        return None
    newest = newest_cuda(driver)
    limit = f"it runs CUDA up to {newest.key}" if newest else "it is older than the table"
    return (
        f"driver {driver} is older than {requirement.minimum}, which CUDA {cuda} needs "
        f"({requirement.row.name}); {limit}"
    )


def _old_driver(host: Host, what: str, cuda: str, severity: Severity) -> list[Finding]:
    driver = driver_version(host)
    reason = too_old(driver, cuda) if driver else None
    if reason is None or is_compatibility_library(host):
        return []
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
            f"{what}: {reason}",
            "programs of this CUDA release stop with `CUDA driver version is insufficient for CUDA "
            "runtime version`",
            command("upgrade_driver", host) + other,
        )
    ]


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

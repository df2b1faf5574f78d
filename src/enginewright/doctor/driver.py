"""Second link: kernel module and user-space driver, present and of one version."""

from __future__ import annotations

from enginewright.compatibility.version import try_version
from enginewright.doctor.check import CannotCheckError, Check
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.doctor.hardware import is_jetson
from enginewright.doctor.in_container import in_container
from enginewright.host.model import Host
from enginewright.host.nvml import LIB_RM_VERSION_MISMATCH

WSL_LIBRARIES = "/usr/lib/wsl/lib/"


def driver_checks(host: Host) -> list[Check]:
    """Checks of the driver of a host that has a GPU.

    Windows brings the driver of WSL, and Jetson Linux that of its boards: neither has the files
    and versions that other hosts have.
    """
    if host.container.wsl.value:
        return [Check("WSL's libcuda", Link.DRIVER, lambda: _wsl(host))]
    if is_jetson(host):
        return [Check("NVML", Link.DRIVER, lambda: _jetson_nvml(host))]
    return [
        Check("kernel module", Link.DRIVER, lambda: _module(host)),
        Check("driver versions", Link.DRIVER, lambda: _mismatch(host)),
        Check("NVML", Link.DRIVER, lambda: _nvml(host)),
        Check("compute mode", Link.DRIVER, lambda: _compute_mode(host)),
    ]


def _error(code: str, seen: str, why: str, fix: str) -> Finding:
    return Finding(code, Link.DRIVER, Severity.ERROR, seen, why, fix)


def _module(host: Host) -> list[Finding]:
    if host.driver.kernel_module.known or host.gpus.known:
        return []
    seen = f"no kernel module is loaded: {host.driver.kernel_module.unknown}"
    held = sorted({gpu.driver.value for gpu in host.pci_gpus.value or () if gpu.driver.value})
    if held:
        seen += f"; the GPU is held by {', '.join(held)}"
    if host.driver.user_space.known:
        return [
            _error(
                "driver.module-not-loaded",
                f"{seen}; user-space driver {host.driver.user_space} is installed",
                "without the module no process reaches the GPU",
                command("load_module", host),
            )
        ]
    return [
        _error(
            "driver.not-installed",
            f"{seen}; {host.driver.user_space.unknown}",
            "without a driver no process reaches the GPU",
            command("install_driver", host),
        )
    ]


def _mismatch(host: Host) -> list[Finding]:
    """Kernel module, libcuda and NVML are parts of one driver and say one version."""
    driver = host.driver
    said = {"kernel module": driver.kernel_module, "NVML": driver.nvml}
    if not is_compatibility_library(host):
        said["user-space libraries"] = driver.user_space
    versions = {fact.value: try_version(fact.value) for fact in said.values() if fact.value}
    differ = len({str(version or text) for text, version in versions.items()}) > 1
    if not differ and driver.nvml_code != LIB_RM_VERSION_MISMATCH:
        known = [name for name, fact in said.items() if fact.known]
        if len(known) < 2 and (driver.kernel_module.known or host.gpus.known):
            silent = "; ".join(f"{name}: {fact.unknown}" for name, fact in said.items())
            raise CannotCheckError(f"fewer than two parts say their version ({silent})")
        return []
    return [
        _error(
            "driver.library-mismatch",
            ", ".join(f"{name} {fact}" for name, fact in said.items()),
            "the user-space packages were upgraded while the old module stayed loaded; everything "
            "that uses CUDA fails until both have one version, and nothing is wrong with CUDA",
            command("reload_module", host),
        )
    ]


def is_compatibility_library(host: Host) -> bool:
    """Whether a process would load libcuda from a forward-compatibility package."""
    return any(
        library.soname == "libcuda.so.1" and "/compat/" in library.path
        for library in host.libraries
    )


def _nvml(host: Host) -> list[Finding]:
    error = host.driver.nvml_error
    if not error or not (host.driver.kernel_module.known or host.gpus.known):
        # Without a module NVML cannot start: one finding is enough.
        return []
    if host.driver.nvml_code == LIB_RM_VERSION_MISMATCH:
        # `driver.library-mismatch` says it.
        return []
    if "nvidia-ml-py" in error:
        return [
            Finding(
                "driver.nvml-not-asked",
                Link.DRIVER,
                Severity.WARNING,
                error,
                "name, memory and compute capability of the GPUs stay unknown",
                command("install_nvml", host),
            )
        ]
    if in_container(host):
        # The driver is fine where the module is loaded: what is missing is the way to it.
        return []
    return [
        _error(
            "driver.nvml",
            f"NVML does not start: {error}",
            "the driver's management library is missing or cannot reach the driver",
            command("install_driver", host),
        )
    ]


def _jetson_nvml(host: Host) -> list[Finding]:
    if not host.gpus.value:
        reason = host.driver.nvml_error or "NVML lists no GPU"
        raise CannotCheckError(
            f"{reason}; Jetson Linux up to release 35 has no NVML: driver version, free memory and "
            "use of the GPU stay unknown (`tegrastats` shows them)"
        )
    return []


def _compute_mode(host: Host) -> list[Finding]:
    closed = [
        f"GPU {index}, {gpu.name}"
        for index, gpu in enumerate(host.gpus.value or ())
        if gpu.compute_mode.value == "prohibited"
    ]
    if not closed:
        return []
    return [
        _error(
            "driver.compute-prohibited",
            "compute mode is `prohibited`: " + ", ".join(closed),
            "the driver lets no program make a CUDA context there",
            "sudo nvidia-smi -c DEFAULT",
        )
    ]


def _wsl(host: Host) -> list[Finding]:
    copies = [
        path
        for library in host.libraries
        if library.soname == "libcuda.so.1"
        for path in (library.path, *library.shadowed)
    ]
    foreign = [path for path in copies if not path.startswith(WSL_LIBRARIES)]
    if foreign:
        return [
            _error(
                "driver.wsl-second-libcuda",
                "libcuda outside WSL's own folder: " + ", ".join(foreign),
                f"inside WSL only the library under {WSL_LIBRARIES} reaches the GPU; a Linux "
                "driver installed inside WSL hides it",
                "remove the Linux driver packages inside WSL, then run: sudo ldconfig",
            )
        ]
    if not copies:
        return [
            _error(
                "driver.wsl-no-libcuda",
                f"no libcuda.so.1 under {WSL_LIBRARIES}",
                "WSL gets its driver from Windows",
                "install NVIDIA's driver in Windows, then run: wsl --shutdown",
            )
        ]
    return []

"""Second link: kernel module and user-space driver, present and of one version."""

from __future__ import annotations

from enginewright.compatibility.version import try_version
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.host.model import Host
from enginewright.host.nvml import LIB_RM_VERSION_MISMATCH

WSL_LIBRARIES = "/usr/lib/wsl/lib/"


def driver_findings(host: Host) -> list[Finding]:
    """Findings about the driver of a host that has a GPU."""
    if host.container.wsl.value:
        return _wsl(host)
    findings = [*_module(host), *_mismatch(host)]
    return findings or _nvml(host)


def _error(code: str, seen: str, why: str, fix: str) -> Finding:
    return Finding(code, Link.DRIVER, Severity.ERROR, seen, why, fix)


def _module(host: Host) -> list[Finding]:
    if host.driver.kernel_module.known or host.gpus.known:
        return []
    seen = f"no kernel module is loaded: {host.driver.kernel_module.unknown}"
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
    module, library = host.driver.kernel_module, host.driver.user_space
    differ = (
        module.value is not None
        and library.value is not None
        and try_version(module.value) != try_version(library.value)
        and not is_compatibility_library(host)
    )
    if not differ and host.driver.nvml_code != LIB_RM_VERSION_MISMATCH:
        return []
    return [
        _error(
            "driver.library-mismatch",
            f"kernel module {module}, user-space libraries {library}",
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
    if not error:
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


def in_container(host: Host) -> bool:
    return host.container.runtime.value not in (None, "none")


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

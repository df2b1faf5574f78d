"""Does a toolchain fit a host, and what has the host got?"""

from __future__ import annotations

from enginewright.compatibility.product import product_row
from enginewright.compatibility.version import ComputeCapability, Version, try_version
from enginewright.doctor.cuda import driver_version
from enginewright.doctor.fixes import command
from enginewright.errors import InputError, Problem
from enginewright.host.model import Host
from enginewright.toolchains.toolchain import Device, Toolchain


def host_problems(toolchain: Toolchain, host: Host) -> list[Problem]:
    """Why engines of the toolchain would not run on the host; empty when they would."""
    problems = []
    driver = driver_version(host)
    if driver is None:
        reason = host.driver.kernel_module.unknown
        problems.append(
            Problem("no driver", "host", toolchain.minimum_driver + " or newer", reason)
        )
    elif Version.parse(driver) < Version.parse(toolchain.minimum_driver):
        problems.append(
            Problem(
                "the driver is too old",
                "host",
                toolchain.minimum_driver + " or newer",
                driver,
                command("upgrade_driver", host),
            )
        )
    able = [str(target) for target in toolchain.compute_capabilities]
    here = [
        gpu.compute_capability.value
        for gpu in host.gpus.value or ()
        if gpu.compute_capability.value is not None
    ]
    if not any(ComputeCapability.parse(item) in toolchain.compute_capabilities for item in here):
        reason = ", ".join(here) or host.gpus.unknown or "no GPU"
        problems.append(
            Problem(
                "no GPU that the toolchain builds for",
                "host",
                "compute capability " + " or ".join(able),
                reason,
            )
        )
    problems += _version_problems(toolchain, host)
    return problems


def _version_problems(toolchain: Toolchain, host: Host) -> list[Problem]:
    found = [
        item.version.value
        for item in host.tensorrt
        if item.product == toolchain.product and item.version.value
    ]
    whole = sorted({text for text in found if len(text.split(".")) == 4})
    if not whole or toolchain.version in whole:
        return []
    return [
        Problem(
            f"another version of {toolchain.product} is installed",
            "host",
            toolchain.version,
            ", ".join(whole),
            f"install {toolchain.version}; all four fields count",
        )
    ]


def host_device(host: Host) -> Device | None:
    """The first GPU whose name and capability are known, with the driver; None without one."""
    driver = driver_version(host)
    for gpu in host.gpus.value or ():
        name, capability = gpu.name.value, gpu.compute_capability.value
        if name and capability and driver:
            return Device(name, ComputeCapability.parse(capability), driver)
    return None


def host_request(host: Host, environment: str | None = None) -> str:
    """The text of a request for what the host has; raise `InputError` for what it lacks.

    The product is the first that is installed with all four version fields; `environment` is the
    address of its tool environment, by default the one of that name in `lockfiles`.
    """
    whole = [
        item
        for item in host.tensorrt
        if item.version.value and len(item.version.value.split(".")) == 4
    ]
    device = host_device(host)
    cuda = host.driver.cuda.value
    problems = []
    if not whole:
        problems.append(
            Problem(
                "no product whose four version fields are known",
                "host",
                "a Python distribution, or the development header",
                ", ".join(f"{item.product} {item.version}" for item in host.tensorrt) or "none",
            )
        )
    if device is None:
        problems.append(
            Problem("no GPU with a driver", "host", actual=host.gpus.unknown or "no GPU")
        )
    if cuda is None or not try_version(cuda):
        problems.append(Problem("the driver's CUDA level is unknown", "host"))
    if problems or device is None:
        raise InputError(problems)
    name = whole[0].product
    environment = environment or f"lockfiles:{name.replace('-', '_')}"
    lines = [
        f'product = "{name}"',
        f'version = "{whole[0].version.value}"',
        f'cuda = "{cuda}"',
        f'environment = "{environment}"',
        f'compute_capabilities = ["{device.compute_capability}"]',
        f'driver = "{device.driver}"',
    ]
    row = product_row(name, str(whole[0].version.value))
    if row is None or row["gpu_bound"]:
        lines += ["", *device.lines()]
    return "\n".join(lines) + "\n"

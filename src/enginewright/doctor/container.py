"""Fourth link: does the container let the process reach the GPU?"""

from __future__ import annotations

from enginewright.doctor.check import Check, need
from enginewright.doctor.device_nodes import node_findings
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.doctor.hardware import is_jetson
from enginewright.doctor.in_container import in_container
from enginewright.host.container import UNLIMITED
from enginewright.host.model import Host

SMALL_SHARED_MEMORY = 64 << 20
"""Docker's default for /dev/shm, too small for NCCL between processes."""
NVML_UNKNOWN = 999
"""NVML_ERROR_UNKNOWN of nvml.h."""


def container_checks(host: Host, tensor_parallel: int | None = None) -> list[Check]:
    """Checks between driver and application; `tensor_parallel` is how many GPUs are meant."""
    return [
        Check("way to the driver", Link.CONTAINER, lambda: _way_to_the_driver(host)),
        Check("device permissions", Link.CONTAINER, lambda: _modes(host)),
        Check("shared memory", Link.CONTAINER, lambda: _shared_memory(host, tensor_parallel)),
        Check("memory limit", Link.CONTAINER, lambda: _limits(host)),
    ]


def _way_to_the_driver(host: Host) -> list[Finding]:
    return _lost_device(host) or node_findings(host) or _libraries(host)


def _lost_device(host: Host) -> list[Finding]:
    error = host.driver.nvml_error
    lost = host.driver.nvml_code == NVML_UNKNOWN or "unknown error" in error.lower()
    if not (lost and in_container(host)):
        return []
    return [
        Finding(
            "container.device-lost",
            Link.CONTAINER,
            Severity.ERROR,
            f"NVML says `{error}` inside a container, with the driver loaded on the host",
            "the container lost its devices: a systemd reload rewrote the device rules of its "
            "control group; driver and engines are fine",
            "recreate the container; to keep it from coming back, on the host: "
            "sudo nvidia-ctk system create-dev-char-symlinks --create-all",
        )
    ]


def _libraries(host: Host) -> list[Finding]:
    error = "" if "nvidia-ml-py" in host.driver.nvml_error else host.driver.nvml_error
    has_cuda = any(library.soname == "libcuda.so.1" for library in host.libraries)
    if not in_container(host) or (has_cuda and (not error or is_jetson(host))):
        return []
    missing = "" if has_cuda else f"; CUDA cannot start: {host.driver.user_space.unknown}"
    answer = f"NVML does not start: {error}" if error else "NVML answers"
    return [
        Finding(
            "container.driver-libraries",
            Link.CONTAINER,
            Severity.ERROR,
            f"the device nodes are there, and {answer}{missing}",
            "the driver's libraries belong to the host; the container's runtime mounts those that "
            "NVIDIA_DRIVER_CAPABILITIES asks for",
            "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility; where that is "
            "set: " + command("container_toolkit", host),
        )
    ]


def _modes(host: Host) -> list[Finding]:
    closed = [
        node
        for node in need(host.container.device_nodes, "the list of device nodes")
        if node.kind == "character device"
        and int(node.mode, 8) & 0o006 != 0o006
        and "caps" not in node.path
    ]
    if not closed:
        return []
    return [
        Finding(
            "container.device-modes",
            Link.CONTAINER,
            Severity.WARNING,
            ", ".join(f"{node.path} has mode {node.mode}" for node in closed),
            "only the owner and the group may open them: other users see no GPU",
            "add the user to the owning group, or set NVreg_DeviceFileMode=0666 for the module",
        )
    ]


def _shared_memory(host: Host, tensor_parallel: int | None) -> list[Finding]:
    gpus = tensor_parallel if tensor_parallel is not None else len(host.gpus.value or ())
    if gpus < 2:
        return []
    size = need(host.container.shared_memory, "the size of /dev/shm")
    if size > SMALL_SHARED_MEMORY:
        return []
    return [
        Finding(
            "container.small-shared-memory",
            Link.CONTAINER,
            Severity.WARNING,
            f"/dev/shm has {size >> 20} MiB, for {gpus} GPUs",
            "NCCL passes data between processes through it: tensor parallelism fails with an NCCL "
            "error or a bus error",
            "start the container with --ipc=host, or with --shm-size=16g",
        )
    ]


def _limits(host: Host) -> list[Finding]:
    if not in_container(host):
        return []
    memory = need(host.container.limits.memory, "the memory limit of the control group")
    if memory == UNLIMITED or int(memory) >= 2 << 30:
        return []
    return [
        Finding(
            "container.small-memory",
            Link.CONTAINER,
            Severity.WARNING,
            f"the control group allows {int(memory) >> 20} MiB of memory",
            "building or loading an engine of that size gets killed",
            "raise the container's memory limit",
        )
    ]

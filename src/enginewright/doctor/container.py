"""Fourth link: does the container let the process reach the GPU?"""

from __future__ import annotations

from enginewright.doctor.driver import in_container
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.host.container import UNLIMITED
from enginewright.host.model import Host

SMALL_SHARED_MEMORY = 64 << 20
"""Docker's default for /dev/shm, too small for NCCL between processes."""
NVML_UNKNOWN = 999
"""NVML_ERROR_UNKNOWN of nvml.h."""
NEEDED_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm")


def container_findings(host: Host, tensor_parallel: int | None = None) -> list[Finding]:
    """Findings between driver and application; `tensor_parallel` is how many GPUs are meant."""
    findings = _lost_device(host)
    if not findings:
        findings = _nodes(host) or _libraries(host)
    return [*findings, *_modes(host), *_shared_memory(host, tensor_parallel), *_limits(host)]


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


def _nodes(host: Host) -> list[Finding]:
    # Where no module is loaded the missing nodes are no news.
    if host.container.wsl.value or not (host.driver.kernel_module.known or host.gpus.known):
        return []
    present = {node.path for node in host.container.device_nodes}
    missing = [path for path in NEEDED_NODES if path not in present]
    if not any(path.removeprefix("/dev/nvidia").isdigit() for path in present):
        missing.insert(0, "/dev/nvidia0")
    if not missing or (host.gpus.value and not host.driver.nvml_error):
        return []
    inside = in_container(host)
    return [
        Finding(
            "container.no-device-nodes" if inside else "driver.no-device-nodes",
            Link.CONTAINER if inside else Link.DRIVER,
            Severity.ERROR,
            "missing: " + ", ".join(missing),
            "the driver is loaded, but this process has no device node to reach it; a step that "
            "needs the GPU is skipped here, never passed",
            command("container_toolkit" if inside else "create_device_nodes", host),
        )
    ]


def _libraries(host: Host) -> list[Finding]:
    error = host.driver.nvml_error
    if not error or "nvidia-ml-py" in error or not in_container(host):
        return []
    return [
        Finding(
            "container.driver-libraries",
            Link.CONTAINER,
            Severity.ERROR,
            f"the device nodes are there, and NVML does not start: {error}",
            "the driver's libraries belong to the host; the container's runtime mounts those that "
            "NVIDIA_DRIVER_CAPABILITIES asks for",
            "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility; where that is "
            "set: " + command("container_toolkit", host),
        )
    ]


def _modes(host: Host) -> list[Finding]:
    closed = [
        node
        for node in host.container.device_nodes
        if int(node.mode, 8) & 0o006 != 0o006 and "caps" not in node.path
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
    size = host.container.shared_memory.value
    gpus = tensor_parallel if tensor_parallel is not None else len(host.gpus.value or ())
    if size is None or size > SMALL_SHARED_MEMORY or gpus < 2:
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
    memory = host.container.limits.memory.value
    if memory is None or memory == UNLIMITED or int(memory) >= 2 << 30:
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

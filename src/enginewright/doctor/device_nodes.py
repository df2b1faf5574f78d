"""The device nodes that CUDA opens; NVML needs fewer, so that NVML answers proves little."""

from __future__ import annotations

from enginewright.doctor.check import need
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.doctor.hardware import is_jetson
from enginewright.doctor.in_container import in_container
from enginewright.host.model import DeviceNode, Host

CONTROL, UNIFIED_MEMORY = "/dev/nvidiactl", "/dev/nvidia-uvm"
_ASKED_FOR_NONE = ("", "void", "none")
"""Values of NVIDIA_VISIBLE_DEVICES for which the container's runtime grants no GPU."""


def node_findings(host: Host) -> list[Finding]:
    """Nodes that are missing, or are no devices; raises `CannotCheckError` without a list."""
    if host.container.wsl.value or is_jetson(host):
        return []
    # Where no module is loaded the missing nodes are no news.
    if not (host.driver.kernel_module.known or host.gpus.known):
        return []
    nodes = {node.path: node for node in need(host.container.device_nodes, "the list of nodes")}
    missing = _missing(host, nodes)
    broken = [node for node in nodes.values() if node.kind != "character device"]
    if broken:
        return [_no_devices(host, broken)]
    return [_finding(host, missing, nodes)] if missing else []


def _missing(host: Host, nodes: dict[str, DeviceNode]) -> list[str]:
    present = [path for path in nodes if path.removeprefix("/dev/nvidia").isdigit()]
    minors = [gpu.minor.value for gpu in host.gpus.value or ()]
    known = [f"/dev/nvidia{minor}" for minor in minors if minor is not None]
    missing = [path for path in known if path not in nodes]
    if len(known) < len(minors) and len(present) < len(minors):
        count = len(minors) - len(present)
        missing.append(f"{count} of {len(minors)} nodes /dev/nvidiaN")
    if not minors and not present:
        missing.append("/dev/nvidia0")
    return [*missing, *(path for path in (CONTROL, UNIFIED_MEMORY) if path not in nodes)]


def _finding(host: Host, missing: list[str], nodes: dict[str, DeviceNode]) -> Finding:
    inside = in_container(host)
    asked = host.visibility.container_devices.value
    seen = "missing: " + ", ".join(missing)
    if inside and asked is not None and asked in _ASKED_FOR_NONE:
        seen += f"; NVIDIA_VISIBLE_DEVICES is `{asked}`, which asks for no GPU"
    if host.gpus.value:
        why = "NVML answers all the same, but CUDA opens these too and does not start without them"
    else:
        why = "the driver is loaded, but this process has no device node to reach it"
    return Finding(
        "container.no-device-nodes" if inside else "driver.no-device-nodes",
        Link.CONTAINER if inside else Link.DRIVER,
        Severity.ERROR,
        seen,
        why + "; a step that needs the GPU is skipped here, never passed",
        _fix(host, missing, inside=inside, has_others=bool(nodes)),
    )


def _fix(host: Host, missing: list[str], *, inside: bool, has_others: bool) -> str:
    if not inside:
        return command("create_device_nodes", host)
    if not has_others:
        return command("container_toolkit", host)
    devices = " ".join(f"--device {path}" for path in missing if " " not in path)
    make = command("create_device_nodes", host)
    return (
        f"hand them to the container: --gpus all, or {devices or '--device for each'}; where the "
        f"machine outside lacks them too, run there: {make}"
    )


def _no_devices(host: Host, broken: list[DeviceNode]) -> Finding:
    inside = in_container(host)
    return Finding(
        "container.node-is-no-device" if inside else "driver.node-is-no-device",
        Link.CONTAINER if inside else Link.DRIVER,
        Severity.ERROR,
        ", ".join(f"{node.path} is a {node.kind}" for node in broken),
        "CUDA opens device nodes; a volume that is mounted from where the machine has no such node "
        "makes a folder instead",
        "remove it, and make the node on the machine: "
        + command("create_device_nodes", host)
        + ("; then start the container with --gpus all" if inside else ""),
    )

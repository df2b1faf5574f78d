"""The host for people: one fact a line, unknown with its reason."""

from __future__ import annotations

from enginewright.host.fact import Fact
from enginewright.host.model import Gpu, Host


def text(host: Host) -> str:
    lines = [_gpu_line(host)]
    for index, gpu in enumerate(host.gpus.value or ()):
        lines += _gpu_lines(index, gpu)
    driver = host.driver
    pci = host.pci_gpus.map(
        lambda found: ", ".join(f"{one.address} ({one.driver})" for one in found) or "none"
    )
    listed = host.driver_gpus.map(
        lambda found: ", ".join(f"{one.address} {one.model}" for one in found) or "none"
    )
    lines += [
        f"NVIDIA controllers on the PCI bus: {pci}",
        f"GPUs of the kernel module: {listed}",
        f"Driver: kernel module {driver.kernel_module}, user space {driver.user_space}",
        f"  NVML: {driver.nvml_error or driver.nvml}",
        f"  newest CUDA that the driver runs: {driver.cuda}",
        "CUDA toolkits: "
        + (", ".join(f"{item.version} in {item.path}" for item in host.toolkits) or "none found"),
        "Libraries that a process would load:" + ("" if host.libraries else " none found"),
    ]
    for library in host.libraries:
        lines.append(f"  {library.soname}: {library.path}, version {library.version}")
        lines += [f"    another copy: {other}" for other in library.shadowed]
    if host.wheel_libraries:
        lines.append("CUDA libraries of Python packages:")
        lines += [f"  {item.soname}: {item.path}" for item in host.wheel_libraries]
    lines.append("TensorRT:" + ("" if host.tensorrt else " none found"))
    lines += [f"  {item.product} {item.version}: {item.where}" for item in host.tensorrt]
    container, cache = host.container, host.compute_cache
    nodes = container.device_nodes.map(
        lambda found: ", ".join(f"{node.path} {node.mode}" for node in found) or "none"
    )
    why = f" ({container.evidence})" if container.evidence else ""
    lines += [
        f"Container: {container.runtime}{why}",
        f"  limits: memory {container.limits.memory}, processors {container.limits.cpus}",
        f"  /dev/shm: {_mib(container.shared_memory)}",
        f"  WSL: {_yes(container.wsl)}",
        f"  device nodes: {nodes}",
        f"Visible devices: CUDA_VISIBLE_DEVICES {host.visibility.cuda_devices}, "
        f"NVIDIA_VISIBLE_DEVICES {host.visibility.container_devices}",
        f"Memory: {_mib(host.memory.total)}, available {_mib(host.memory.available)}",
        f"Board: {host.board.model}, Jetson Linux {host.board.tegra_release}",
        f"Compute cache: {cache.path}, {_mib(cache.size)}",
        f"  oldest file: {_days(cache.oldest_seconds)}",
        f"System: {host.distribution} {host.distribution_version}, kernel {host.kernel}",
    ]
    if host.network_mounts:
        lines.append(f"Network file systems: {', '.join(host.network_mounts)}")
    return "\n".join(lines)


def _gpu_line(host: Host) -> str:
    if host.gpus.value is None:
        return f"GPUs: unknown ({host.gpus.unknown})"
    return f"GPUs: {len(host.gpus.value)}"


def _gpu_lines(index: int, gpu: Gpu) -> list[str]:
    instances = gpu.mig_instances.value
    mig = f", {len(instances)} instances" if instances else ""
    watts = gpu.power_limit_milliwatts.map(lambda value: f"{value / 1000:g} W")
    return [
        f"  {index}: {gpu.name}, {gpu.uuid}",
        f"     compute capability {gpu.compute_capability}, power limit {watts}",
        f"     memory {_mib(gpu.memory_total)}, free {_mib(gpu.memory_free)}, ECC {_yes(gpu.ecc)}",
        f"     MIG {_yes(gpu.mig)}{mig}, persistence {_yes(gpu.persistence)}, "
        f"compute mode {gpu.compute_mode}",
        f"     PCIe generation {gpu.pcie_generation} of {gpu.pcie_generation_max}, "
        f"width {gpu.pcie_width} of {gpu.pcie_width_max}",
    ]


def _mib(fact: Fact[int]) -> str:
    return str(fact.map(lambda value: f"{value / (1 << 20):.0f} MiB"))


def _days(fact: Fact[int]) -> str:
    return str(fact.map(lambda value: f"{value / 86400:.1f} days old"))


def _yes(fact: Fact[bool]) -> str:
    return str(fact.map(lambda value: "on" if value else "off"))

"""The facts about a host. Sizes are bytes; every field that may be missing is a `Fact`."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.host.fact import Fact


@dataclass(frozen=True)
class MigInstance:
    """A part of a GPU; in MIG mode programs see these instead of the GPU."""

    uuid: str
    memory_total: Fact[int]
    memory_free: Fact[int]


@dataclass(frozen=True)
class PciGpu:
    """An NVIDIA display or compute controller on the PCI bus, with or without a driver."""

    address: str
    """`0000:41:00.0`."""
    driver: Fact[str]
    """The kernel's driver of it: `nvidia`, `nouveau`, `vfio-pci`."""


@dataclass(frozen=True)
class DriverGpu:
    """A GPU that the kernel module lists under `/proc/driver/nvidia/gpus`."""

    address: str
    model: Fact[str]
    minor: Fact[int]
    """N of its node `/dev/nvidiaN`."""


@dataclass(frozen=True)
class Gpu:
    name: Fact[str]
    uuid: Fact[str]
    pci_address: Fact[str]
    minor: Fact[int]
    """N of its node `/dev/nvidiaN`."""
    compute_capability: Fact[str]
    """`major.minor`."""
    memory_total: Fact[int]
    memory_free: Fact[int]
    ecc: Fact[bool]
    mig: Fact[bool]
    mig_instances: Fact[tuple[MigInstance, ...]]
    persistence: Fact[bool]
    """Whether the driver stays initialized while no program uses the GPU."""
    compute_mode: Fact[str]
    """`default`, `exclusive thread`, `prohibited` or `exclusive process`."""
    power_limit_milliwatts: Fact[int]
    pcie_generation: Fact[int]
    pcie_generation_max: Fact[int]
    pcie_width: Fact[int]
    """Lanes in use now; idle cards may show fewer."""
    pcie_width_max: Fact[int]


@dataclass(frozen=True)
class Driver:
    kernel_module: Fact[str]
    """Version of the loaded kernel module, from `/proc/driver/nvidia/version`."""
    kernel_module_open: Fact[bool]
    user_space: Fact[str]
    """Version of the user-space libraries, from the file name of libcuda."""
    nvml: Fact[str]
    """What NVML calls the driver version."""
    cuda: Fact[str]
    """The newest CUDA release that the driver supports: a limit, not an installed toolkit."""
    nvml_error: str
    """Why NVML did not start; empty when it did."""
    nvml_code: int | None


@dataclass(frozen=True)
class Library:
    """A shared library that a process would load by its soname."""

    soname: str
    path: str
    version: Fact[str]
    """Version in the name of the file that the soname leads to."""
    found_by: str
    """`LD_LIBRARY_PATH`, `ld.so.cache` or `default path`."""
    shadowed: tuple[str, ...]
    """Other copies of the soname, later in the search order."""


@dataclass(frozen=True)
class WheelLibrary:
    """A CUDA library of a Python package, which programs of that Python load by its own path."""

    soname: str
    path: str


@dataclass(frozen=True)
class Toolkit:
    path: str
    version: Fact[str]


@dataclass(frozen=True)
class TensorRt:
    product: str
    """`tensorrt` or `tensorrt-rtx`."""
    version: Fact[str]
    """All four fields where the place says them, fewer where it does not."""
    where: str


@dataclass(frozen=True)
class DeviceNode:
    path: str
    mode: str
    """Octal permissions, `0666`."""
    kind: str


@dataclass(frozen=True)
class Limits:
    """Limits of the control group; `unlimited` where there is none."""

    version: Fact[int]
    memory: Fact[str]
    """Bytes."""
    cpus: Fact[str]
    """Processors, possibly a fraction."""


@dataclass(frozen=True)
class Container:
    runtime: Fact[str]
    """`none`, `docker`, `podman`, `kubernetes`, `containerd`, `lxc` or another's own name."""
    evidence: str
    device_nodes: Fact[tuple[DeviceNode, ...]]
    shared_memory: Fact[int]
    """Size of `/dev/shm`."""
    wsl: Fact[bool]
    limits: Limits


@dataclass(frozen=True)
class Memory:
    """The system's memory; a GPU without its own shares it."""

    total: Fact[int]
    available: Fact[int]


@dataclass(frozen=True)
class Board:
    """What says that the GPU is part of the processor and no PCI device."""

    model: Fact[str]
    """The device tree's name of the board."""
    tegra_release: Fact[str]
    """Release of Jetson Linux, `35.4.1`."""
    nodes: tuple[str, ...]
    """Device nodes of an integrated GPU: `/dev/nvmap`, `/dev/nvhost-gpu`, `/dev/nvgpu`."""


@dataclass(frozen=True)
class Visibility:
    """Variables that choose devices; unknown where one is not set."""

    cuda_devices: Fact[str]
    """CUDA_VISIBLE_DEVICES: what CUDA shows to programs."""
    cuda_order: Fact[str]
    """CUDA_DEVICE_ORDER: what an index there means."""
    container_devices: Fact[str]
    """NVIDIA_VISIBLE_DEVICES: what the container's runtime was asked for."""


@dataclass(frozen=True)
class ComputeCache:
    """The driver's cache of compiled kernels."""

    path: Fact[str]
    size: Fact[int]
    oldest_seconds: Fact[int]
    """Age of the oldest file."""
    entries: Fact[int]


@dataclass(frozen=True)
class Host:
    pci_gpus: Fact[tuple[PciGpu, ...]]
    driver_gpus: Fact[tuple[DriverGpu, ...]]
    gpus: Fact[tuple[Gpu, ...]]
    """The GPUs that NVML describes."""
    nvml_count: Fact[int]
    """How many GPUs NVML says there are."""
    memory: Memory
    board: Board
    visibility: Visibility
    driver: Driver
    libraries: tuple[Library, ...]
    wheel_libraries: tuple[WheelLibrary, ...]
    toolkits: tuple[Toolkit, ...]
    tensorrt: tuple[TensorRt, ...]
    container: Container
    compute_cache: ComputeCache
    distribution: Fact[str]
    """`ID` of os-release."""
    distribution_like: tuple[str, ...]
    distribution_version: Fact[str]
    kernel: Fact[str]
    network_mounts: tuple[str, ...]
    """Mount points on NFS and other network file systems."""

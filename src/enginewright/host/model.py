"""The facts about a host. Sizes are bytes; every field that may be missing is a `Fact`."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.host.fact import Fact


@dataclass(frozen=True)
class MigInstance:
    uuid: str
    memory_total: int


@dataclass(frozen=True)
class Gpu:
    name: Fact[str]
    uuid: Fact[str]
    compute_capability: Fact[str]
    """`major.minor`."""
    memory_total: Fact[int]
    memory_free: Fact[int]
    ecc: Fact[bool]
    mig: Fact[bool]
    mig_instances: Fact[tuple[MigInstance, ...]]
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
    device_nodes: tuple[DeviceNode, ...]
    shared_memory: Fact[int]
    """Size of `/dev/shm`."""
    wsl: Fact[bool]
    limits: Limits


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
    pci_gpus: Fact[tuple[str, ...]]
    """PCI addresses of NVIDIA display and compute controllers, driver or not."""
    gpus: Fact[tuple[Gpu, ...]]
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

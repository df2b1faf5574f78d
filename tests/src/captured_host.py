"""A host in perfect order, as a capture; each test takes away or changes what it is about."""

from enginewright.host.captured import Capture, CapturedSource
from enginewright.host.model import Host
from enginewright.host.probe import probe
from enginewright.host.sources import FileStatus

FOLDER = FileStatus(0o755, "directory", 0, 0)
NODES = ("nvidia-uvm", "nvidia0", "nvidiactl")
NO_NVML = {"error": "NVML Shared Library Not Found", "code": 12}


def gpu(name="NVIDIA H200", capability=(9, 0), total=140 << 30, **changes) -> dict:
    return {
        "name": name,
        "uuid": "GPU-11111111-0000-0000-0000-000000000000",
        "compute_capability": list(capability),
        "memory_total": total,
        "memory_free": total,
        "mig": False,
        "mig_instances": [],
        "pcie_width": 16,
        "pcie_width_max": 16,
        **changes,
    }


def add_pci_gpu(made: Capture, address: str, driver: str | None = "nvidia") -> None:
    base = "/sys/bus/pci/devices"
    made.directories[base] = (*made.directories.get(base, ()), address)
    made.files[f"{base}/{address}/vendor"] = b"0x10de\n"
    made.files[f"{base}/{address}/class"] = b"0x030200\n"
    if driver:
        target = f"../../../bus/pci/drivers/{driver}"
        made.statuses[f"{base}/{address}/driver"] = FileStatus(0o777, "link", 0, 0, target)


def add_library(made: Capture, folder: str, soname: str, file: str) -> None:
    made.directories[folder] = (*made.directories.get(folder, ()), soname, file)
    for end in range(2, len(folder.split("/")) + 1):
        made.statuses["/".join(folder.split("/")[:end])] = FOLDER
    made.statuses[f"{folder}/{soname}"] = FileStatus(0o777, "link", 0, 0, file)


def capture(
    module: str | None = "580.159.04",
    library: str | None = "580.159.04",
    nodes: tuple[str, ...] = NODES,
    gpus: tuple[dict, ...] | None = (gpu(),),
    error: dict | None = None,
    os_release: str = "ID=ubuntu\n",
    container: bool = False,
    shm: int = 16 << 30,
    folder: str = "/usr/lib/x86_64-linux-gnu",
    kernel: str = "6.8.0-generic",
    pci: int | None = None,
) -> Capture:
    """`pci` is how many GPUs the bus shows: as many as NVML lists, where it is not given."""
    listed = list(gpus or ())
    answers = {"driver_version": module, "device_count": len(listed), "devices": listed}
    made = Capture(now=1000, nvml=error or answers)
    made.files["/etc/os-release"] = os_release.encode()
    made.files["/proc/sys/kernel/osrelease"] = kernel.encode()
    made.files["/proc/1/cgroup"] = b"0::/\n"
    made.files["/proc/meminfo"] = b"MemTotal: 131072000 kB\nMemAvailable: 100000000 kB\n"
    made.files["/sys/fs/cgroup/memory.max"] = b"max\n"
    made.directories["/sys/bus/pci/devices"] = ()
    for number in range(len(listed) if pci is None else pci):
        add_pci_gpu(made, f"0000:{number + 1:02x}:00.0")
    if module:
        made.files["/proc/driver/nvidia/version"] = (
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {module}  Release Build\n".encode()
        )
    if library:
        add_library(made, folder, "libcuda.so.1", f"libcuda.so.{library}")
    made.directories["/dev"] = nodes
    for node in nodes:
        made.statuses[f"/dev/{node}"] = FileStatus(0o666, "character device", 0, 0)
    if container:
        made.statuses["/.dockerenv"] = FileStatus(0o644, "file", 0, 0)
    made.sizes["/dev/shm"] = shm
    return made


def host(**changes) -> Host:
    return probe(CapturedSource(capture(**changes)))


def probed(made: Capture) -> Host:
    return probe(CapturedSource(made))


def codes(diagnosis) -> list[str]:
    return [finding.code for finding in diagnosis.findings]

"""The probe on a captured H200 host, on an empty machine, and on each odd one."""

import struct

from enginewright.host.captured import Capture, CapturedSource
from enginewright.host.fact import to_json
from enginewright.host.ld_cache import MAGIC
from enginewright.host.probe import kernel_module_version, parse_os_release, probe
from enginewright.host.report import text
from enginewright.host.sources import FileStatus

OPEN_MODULE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
    "GCC version:  gcc version 15.3.0 (GCC)\n"
)
CLOSED_MODULE = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.56.06  Thu Oct  6 21:38:55 UTC 2022\n"
    "GCC version:  gcc version 11.3.0\n"
)
NODE = FileStatus(0o666, "character device", 0, 0)


def link(target: str) -> FileStatus:
    return FileStatus(0o777, "link", 0, 0, target)


def ld_cache(pairs: list[tuple[str, str]]) -> bytes:
    names, entries = b"", b""
    start = 48 + 24 * len(pairs)
    for soname, path in pairs:
        offset = start + len(names)
        entries += struct.pack("<iIIIQ", 0x303, offset, offset + len(soname) + 1, 0, 0)
        names += soname.encode() + b"\0" + path.encode() + b"\0"
    return MAGIC + struct.pack("<II", len(pairs), len(names)) + bytes(20) + entries + names


def h200() -> Capture:
    """What a bundle of an H200 container holds, shortened; the UUID is made up."""
    return Capture(
        files={
            "/proc/driver/nvidia/version": OPEN_MODULE.encode(),
            "/etc/os-release": b'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n',
            "/proc/sys/kernel/osrelease": b"6.18.44\n",
            "/proc/mounts": b"/dev/vda / ext4 rw 0 0\n10.0.0.1:/home /home nfs4 rw 0 0\n",
            "/proc/1/cgroup": b"0::/\n",
            "/sys/bus/pci/devices/0000:00:06.0/vendor": b"0x10de\n",
            "/sys/bus/pci/devices/0000:00:06.0/class": b"0x030200\n",
            "/sys/bus/pci/devices/0000:00:07.0/vendor": b"0x8086\n",
            "/sys/bus/pci/devices/0000:00:07.0/class": b"0x030000\n",
            "/sys/fs/cgroup/memory.max": b"137438953472\n",
            "/sys/fs/cgroup/cpu.max": b"1600000 100000\n",
            "/usr/local/cuda-13.0/version.json": b'{"cuda": {"name": "S", "version": "13.0.2"}}',
            "/etc/ld.so.cache": ld_cache(
                [
                    ("libcudart.so.13", "/usr/local/cuda/lib64/libcudart.so.13"),
                    ("libc.so.6", "/lib/libc.so.6"),
                ]
            ),
        },
        directories={
            "/dev": ("null", "nvidia-uvm", "nvidia0", "nvidiactl", "nvidiafs"),
            "/usr/local": ("bin", "cuda", "cuda-13.0"),
            "/usr/local/nvidia/lib64": ("libcuda.so", "libcuda.so.1", "libcuda.so.580.159.04"),
            "/usr/local/cuda-13.0/lib64": ("libcudart.so.13", "libcudart.so.13.0.96"),
            "/sys/bus/pci/devices": ("0000:00:06.0", "0000:00:07.0"),
            "/venv/site-packages": (
                "numpy-2.4.6.dist-info",
                "tensorrt_rtx_cu13_libs-1.7.1.116.dist-info",
            ),
            "/home/user/.nv/ComputeCache": ("a", "index"),
            "/home/user/.nv/ComputeCache/a": ("b",),
        },
        statuses={
            "/.dockerenv": FileStatus(0o644, "file", 0, 0),
            "/dev/nvidia0": NODE,
            "/dev/nvidiactl": NODE,
            "/dev/nvidia-uvm": NODE,
            "/usr": FileStatus(0o755, "directory", 0, 0),
            "/usr/local": FileStatus(0o755, "directory", 0, 0),
            "/usr/local/cuda": link("cuda-13.0"),
            "/usr/local/cuda-13.0": FileStatus(0o755, "directory", 0, 0),
            "/usr/local/cuda-13.0/lib64": FileStatus(0o755, "directory", 0, 0),
            "/usr/local/cuda-13.0/lib64/libcudart.so.13": link("libcudart.so.13.0.96"),
            "/usr/local/nvidia": FileStatus(0o755, "directory", 0, 0),
            "/usr/local/nvidia/lib64": FileStatus(0o755, "directory", 0, 0),
            "/usr/local/nvidia/lib64/libcuda.so.1": link("libcuda.so.580.159.04"),
            "/home/user/.nv/ComputeCache/a": FileStatus(0o755, "directory", 0, 0),
            "/home/user/.nv/ComputeCache/a/b": FileStatus(0o644, "file", 1000, 500),
            "/home/user/.nv/ComputeCache/index": FileStatus(0o644, "file", 24, 900),
        },
        sizes={"/dev/shm": 64 << 20},
        variables={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64::relative", "HOME": "/home/user"},
        python_paths=("/venv/site-packages",),
        nvml={
            "driver_version": "580.159.04",
            "cuda_driver_version": 13000,
            "device_count": 1,
            "devices": [
                {
                    "name": "NVIDIA H200",
                    "uuid": "GPU-00000000-0000-0000-0000-000000000000",
                    "compute_capability": [9, 0],
                    "memory_total": 150754820096,
                    "memory_free": 150109880320,
                    "ecc": True,
                    "mig": False,
                    "mig_instances": [],
                    "power_limit_milliwatts": 700000,
                    "pcie_generation": 5,
                    "pcie_generation_max": 5,
                    "pcie_width": 16,
                    "pcie_width_max": 16,
                }
            ],
        },
        now=1000,
    )


def test_driver_of_an_h200():
    driver = probe(CapturedSource(h200())).driver
    assert driver.kernel_module.value == "580.159.04"
    assert driver.kernel_module_open.value is True
    assert driver.user_space.value == "580.159.04"
    assert driver.cuda.value == "13.0"
    assert driver.nvml_error == ""


def test_libraries_of_an_h200():
    cuda, cudart = probe(CapturedSource(h200())).libraries
    assert (cuda.soname, cuda.path, cuda.found_by) == (
        "libcuda.so.1",
        "/usr/local/nvidia/lib64/libcuda.so.1",
        "LD_LIBRARY_PATH",
    )
    assert (cudart.version.value, cudart.found_by) == ("13.0.96", "ld.so.cache")
    # The folder is in LD_LIBRARY_PATH and a default path: one copy, not two.
    assert cuda.shadowed == ()


def test_toolkit_tensorrt_and_pci_of_an_h200():
    host = probe(CapturedSource(h200()))
    assert [(item.path, item.version.value) for item in host.toolkits] == [
        ("/usr/local/cuda-13.0", "13.0.2")
    ]
    assert [(item.product, item.version.value) for item in host.tensorrt] == [
        ("tensorrt-rtx", "1.7.1.116")
    ]
    assert [one.address for one in host.pci_gpus.value] == ["0000:00:06.0"]


def test_container_of_an_h200():
    container = probe(CapturedSource(h200())).container
    assert (container.runtime.value, container.evidence) == ("docker", "/.dockerenv exists")
    assert [(node.path, node.mode) for node in container.device_nodes.value] == [
        ("/dev/nvidia-uvm", "0666"),
        ("/dev/nvidia0", "0666"),
        ("/dev/nvidiactl", "0666"),
    ]
    assert container.shared_memory.value == 64 << 20
    assert container.wsl.value is False
    assert container.limits.memory.value == "137438953472"
    assert container.limits.cpus.value == "16"


def test_compute_cache_and_mounts_of_an_h200():
    host = probe(CapturedSource(h200()))
    cache = host.compute_cache
    assert (cache.size.value, cache.entries.value, cache.oldest_seconds.value) == (1024, 2, 500)
    assert host.network_mounts == ("/home",)


def test_an_empty_machine_is_unknown_everywhere_and_zero_nowhere():
    host = probe(CapturedSource(Capture()))
    document = to_json(host)
    assert document["gpus"] == {"unknown": "NVML: not captured"}
    assert document["driver"]["kernel_module"] == {
        "unknown": "/proc/driver/nvidia/version: no such file or directory"
    }
    for name in ("size", "oldest_seconds", "entries"):
        assert "unknown" in document["compute_cache"][name]
    assert "unknown" in document["container"]["shared_memory"]
    assert "unknown" in document["container"]["limits"]["memory"]
    assert "GPUs: unknown (NVML: not captured)" in text(host)


def test_cgroup_version_1_and_its_way_to_say_unlimited():
    capture = h200()
    for name in ("memory.max", "cpu.max"):
        del capture.files[f"/sys/fs/cgroup/{name}"]
    capture.files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = b"9223372036854771712\n"
    capture.files["/sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = b"150000\n"
    capture.files["/sys/fs/cgroup/cpu/cpu.cfs_period_us"] = b"100000\n"
    limits = probe(CapturedSource(capture)).container.limits
    assert (limits.version.value, limits.memory.value, limits.cpus.value) == (1, "unlimited", "1.5")


def test_cgroup_version_2_without_limits():
    capture = h200()
    capture.files["/sys/fs/cgroup/memory.max"] = b"max\n"
    capture.files["/sys/fs/cgroup/cpu.max"] = b"max 100000\n"
    limits = probe(CapturedSource(capture)).container.limits
    assert (limits.memory.value, limits.cpus.value) == ("unlimited", "unlimited")


def test_the_lowest_limit_of_all_groups_above_a_process_counts():
    capture = h200()
    for name in ("memory.max", "cpu.max"):
        del capture.files[f"/sys/fs/cgroup/{name}"]
    capture.files["/proc/self/cgroup"] = b"0::/user.slice/job.scope\n"
    base = "/sys/fs/cgroup/user.slice"
    capture.files[f"{base}/memory.max"] = b"1000\n"
    capture.files[f"{base}/cpu.max"] = b"200000 100000\n"
    capture.files[f"{base}/job.scope/memory.max"] = b"max\n"
    capture.files[f"{base}/job.scope/cpu.max"] = b"50000 100000\n"
    limits = probe(CapturedSource(capture)).container.limits
    assert (limits.version.value, limits.memory.value, limits.cpus.value) == (2, "1000", "0.5")


def test_a_cgroup_file_with_garbage_is_unknown():
    capture = h200()
    capture.files["/sys/fs/cgroup/memory.max"] = b"12 apples\n"
    capture.files["/sys/fs/cgroup/cpu.max"] = b"1 0\n"
    limits = probe(CapturedSource(capture)).container.limits
    assert not limits.memory.known
    assert not limits.cpus.known


def test_row_45_two_copies_of_libcuda_inside_wsl():
    capture = h200()
    capture.variables = {}
    capture.files["/proc/sys/kernel/osrelease"] = b"5.15.153.1-microsoft-standard-WSL2\n"
    capture.files["/etc/ld.so.cache"] = ld_cache(
        [
            ("libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
            ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"),
        ]
    )
    host = probe(CapturedSource(capture))
    cuda = next(item for item in host.libraries if item.soname == "libcuda.so.1")
    assert host.container.wsl.value is True
    assert cuda.path == "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
    assert "/usr/lib/wsl/lib/libcuda.so.1" in cuda.shadowed


def test_row_03_kernel_module_versions_of_both_kinds_of_module():
    assert kernel_module_version(CLOSED_MODULE).value == "520.56.06"
    assert kernel_module_version(OPEN_MODULE).value == "580.159.04"
    assert not kernel_module_version("").known


def test_row_01_the_header_has_the_fourth_field_and_the_library_name_has_not():
    capture = h200()
    capture.python_paths = ()
    capture.files["/usr/include/x86_64-linux-gnu/NvInferVersion.h"] = (
        b"#define NV_TENSORRT_MAJOR 8 //!< major\n#define NV_TENSORRT_MINOR 6\n"
        b"#define NV_TENSORRT_PATCH 1\n#define NV_TENSORRT_BUILD 6\n"
    )
    capture.directories["/usr/lib/x86_64-linux-gnu"] = ("libnvinfer.so.8",)
    capture.statuses["/usr/lib"] = FileStatus(0o755, "directory", 0, 0)
    capture.statuses["/usr/lib/x86_64-linux-gnu"] = FileStatus(0o755, "directory", 0, 0)
    capture.statuses["/usr/lib/x86_64-linux-gnu/libnvinfer.so.8"] = link("libnvinfer.so.8.6.1")
    found = probe(CapturedSource(capture)).tensorrt
    assert [(item.product, item.version.value) for item in found] == [
        ("tensorrt", "8.6.1.6"),
        ("tensorrt", "8.6.1"),
    ]


def test_os_release_with_quotes_and_garbage():
    text_of_file = 'ID="opensuse-leap"\nNAME=\'a b\'\nBROKEN="\n=x\nVERSION_ID=15.6\n'
    assert parse_os_release(text_of_file) == {
        "ID": "opensuse-leap",
        "NAME": "a b",
        "VERSION_ID": "15.6",
    }


def test_a_loop_of_links_ends():
    capture = h200()
    capture.statuses["/usr/local/nvidia/lib64/libcuda.so.1"] = link("libcuda.so.1")
    host = probe(CapturedSource(capture))
    assert not host.driver.user_space.known

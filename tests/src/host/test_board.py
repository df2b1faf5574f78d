"""Memory, boards and the PCI bus, as the kernel and Jetson Linux write them."""

import pytest

from enginewright.host.board import board, memory
from enginewright.host.captured import Capture, CapturedSource
from enginewright.host.pci import driver_gpus, pci_gpus
from enginewright.host.sources import FileStatus


def of(files: dict[str, bytes] | None = None, **more) -> CapturedSource:
    return CapturedSource(Capture(files=files or {}, **more))


def test_memory_is_read_in_bytes():
    text = b"MemTotal:       24683592 kB\nMemFree:         1 kB\nMemAvailable:   20000000 kB\n"
    found = memory(of({"/proc/meminfo": text}))
    assert (found.total.value, found.available.value) == (24683592 << 10, 20000000 << 10)


@pytest.mark.parametrize("text", [b"", b"MemTotal: lots\n", b"\xff\xfe"])
def test_memory_that_is_not_said_is_unknown(text):
    assert memory(of({"/proc/meminfo": text})).total.unknown == "/proc/meminfo has no MemTotal"
    assert "no such file" in memory(of()).total.unknown


@pytest.mark.parametrize(
    ("text", "release"),
    [
        (b"# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref", "35.4.1"),
        (b"# R36 (release), REVISION: 4.7, GCID: 1, BOARD: generic", "36.4.7"),
        (b"# R32 (release), REVISION: 7, GCID: 1, BOARD: t210ref", "32.7"),
    ],
)
def test_releases_of_jetson_linux(text, release):
    assert board(of({"/etc/nv_tegra_release": text})).tegra_release.value == release


def test_the_device_trees_model_ends_with_a_zero_byte():
    source = of({"/proc/device-tree/model": b"NVIDIA Jetson Orin Nano Developer Kit\0"})
    assert board(source).model.value == "NVIDIA Jetson Orin Nano Developer Kit"
    assert board(of({"/proc/device-tree/model": b"\0"})).model.unknown.endswith("is empty")


def test_nodes_of_an_integrated_gpu():
    names = ("null", "nvgpu", "nvhost-ctrl-gpu", "nvidia0", "nvmap", "nvmapx")
    found = board(of(directories={"/dev": names})).nodes
    assert found == ("/dev/nvgpu", "/dev/nvhost-ctrl-gpu", "/dev/nvmap")


def test_pci_gpus_with_the_driver_that_has_each():
    base = "/sys/bus/pci/devices"
    made = Capture(directories={base: ("0000:00:1f.0", "0000:01:00.0", "0000:01:00.1")})
    for address, vendor, kind in (
        ("0000:00:1f.0", b"0x8086\n", b"0x030000\n"),
        ("0000:01:00.0", b"0x10de\n", b"0x030200\n"),
        ("0000:01:00.1", b"0x10de\n", b"0x040300\n"),
    ):
        made.files[f"{base}/{address}/vendor"] = vendor
        made.files[f"{base}/{address}/class"] = kind
    link = FileStatus(0o777, "link", 0, 0, "../../../bus/pci/drivers/vfio-pci")
    made.statuses[f"{base}/0000:01:00.0/driver"] = link
    (found,) = pci_gpus(CapturedSource(made)).value
    assert (found.address, found.driver.value) == ("0000:01:00.0", "vfio-pci")


def test_gpus_of_the_kernel_module():
    text = b"Model: \t\t NVIDIA H200\nIRQ:   \t\t 24\nDevice Minor: \t 3\nGPU Firmware: \t 580\n"
    base = "/proc/driver/nvidia/gpus"
    source = of({f"{base}/0000:41:00.0/information": text}, directories={base: ("0000:41:00.0",)})
    (found,) = driver_gpus(source).value
    assert (found.address, found.model.value, found.minor.value) == (
        "0000:41:00.0",
        "NVIDIA H200",
        3,
    )
    assert "no such file" in driver_gpus(of()).unknown

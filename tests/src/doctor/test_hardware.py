"""Integrated GPUs, values that no hardware has, and hosts of which little is known."""

import pytest
from captured_host import NO_NVML, add_library, capture, codes, gpu, host, probed

from enginewright.doctor.devices import visible_devices
from enginewright.doctor.report import text
from enginewright.doctor.walk import examine
from enginewright.host.captured import Capture
from enginewright.host.model import Host
from enginewright.host.sources import FileStatus

TEGRA = "/usr/lib/aarch64-linux-gnu/tegra"


def jetson(**files: bytes) -> Capture:
    """JetPack 5: no NVML, no PCI GPU, none of the files of a desktop driver."""
    made = capture(
        module=None,
        library=None,
        nodes=("nvhost-ctrl-gpu", "nvhost-gpu", "nvmap"),
        gpus=(),
        error=NO_NVML,
        kernel="5.10.104-tegra",
    )
    add_library(made, TEGRA, "libcuda.so.1", "libcuda.so.1.1")
    names = {"release": "/etc/nv_tegra_release", "model": "/proc/device-tree/model"}
    for name, data in files.items():
        made.files[names[name]] = data
    return made


RELEASE = b"# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64\n"
ORIN = b"NVIDIA Jetson AGX Orin Developer Kit\0"


def test_row_d5_a_jetson_has_a_gpu_that_nvml_does_not_show():
    diagnosis = examine(probed(jetson(release=RELEASE)))
    assert codes(diagnosis) == ["hardware.integrated-gpu"]
    assert "No NVIDIA GPU" not in text(diagnosis)
    assert "Nothing to change" not in text(diagnosis)
    assert "Jetson Linux R35.4.1" in diagnosis.findings[0].seen
    assert "NVML does not show the GPU" in diagnosis.findings[0].seen
    reasons = {one.check: one.reason for one in diagnosis.skipped}
    assert "NVML Shared Library Not Found" in reasons["NVML"]


@pytest.mark.parametrize("files", [{"model": ORIN}, {"release": RELEASE}, {}])
def test_row_d5_each_sign_of_a_jetson_is_enough(files):
    diagnosis = examine(probed(jetson(**files)))
    assert codes(diagnosis) == ["hardware.integrated-gpu"]


def test_row_d5_the_gpu_of_an_orin_has_the_systems_memory():
    (device,) = visible_devices(probed(jetson(release=RELEASE, model=ORIN))).devices
    assert device.label == "the GPU of NVIDIA Jetson AGX Orin Developer Kit"
    assert device.compute_capability.value == "8.7"
    assert device.memory_total.value == 131072000 << 10
    assert device.memory_free.value == 100000000 << 10


def test_a_container_on_a_jetson_without_the_runtime():
    made = jetson(model=ORIN)
    made.statuses["/.dockerenv"] = FileStatus(0o644, "file", 0, 0)
    del made.directories[TEGRA]
    assert "container.driver-libraries" in codes(examine(probed(made)))


def spark(**changes) -> Host:
    unknown = {"unknown": "Not Supported"}
    memory = {"total": unknown, "memory_free": unknown, **changes}
    return host(gpus=(gpu("NVIDIA GB10", (12, 1), **memory),))


@pytest.mark.parametrize("total", [{"unknown": "Not Supported"}, 0])
def test_gb10_shares_the_systems_memory(total):
    seen = spark(total=total)
    diagnosis = examine(seen)
    assert codes(diagnosis) == ["hardware.integrated-gpu"]
    assert diagnosis.exit_code == 0
    assert "shares 125.0 GiB of system memory" in diagnosis.findings[0].seen
    assert visible_devices(seen).devices[0].memory_total.value == 131072000 << 10


def test_grace_hopper_has_memory_of_its_own():
    seen = host(gpus=(gpu("NVIDIA GH200 480GB", (9, 0), 96 << 30),))
    assert codes(examine(seen)) == []
    assert visible_devices(seen).devices[0].memory_total.value == 96 << 30


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"total": 0}, "GPU 0 has 0 bytes of memory"),
        ({"total": 1 << 60}, "GPU 0 has 1152921504606846976 bytes of memory"),
        ({"total": 10, "memory_free": 11}, "GPU 0 has 11 bytes free of 10"),
        ({"total": -1, "memory_free": -1}, "GPU 0 has -1 bytes of memory"),
        ({"capability": (0, 0)}, "GPU 0 has compute capability 0.0"),
    ],
)
def test_values_that_no_hardware_has_are_not_in_order(changes, seen):
    diagnosis = examine(host(gpus=(gpu(**changes),)))
    assert codes(diagnosis) == ["hardware.implausible"]
    assert diagnosis.findings[0].seen == seen
    assert diagnosis.exit_code == 1


def test_no_gpu_is_said_only_where_every_source_said_so():
    made = capture(module=None, library=None, nodes=(), gpus=(), error=NO_NVML)
    assert text(examine(probed(made))).startswith("No NVIDIA GPU here.")
    del made.directories["/sys/bus/pci/devices"]
    report = text(examine(probed(made)))
    assert report.startswith("No NVIDIA GPU was seen, but not every source could be asked")
    assert "/sys/bus/pci/devices: no such file or directory" in report


def test_without_nvml_what_it_alone_knows_is_skipped():
    error = {"error": "the Python package nvidia-ml-py is not installed"}
    made = capture(gpus=(), error=error, pci=1)
    made.directories["/proc/driver/nvidia/gpus"] = ("0000:01:00.0",)
    diagnosis = examine(probed(made))
    assert codes(diagnosis) == ["driver.nvml-not-asked"]
    assert {one.check for one in diagnosis.skipped} == {
        "plausible values",
        "MIG instances",
        "PCIe lanes",
        "visible devices",
    }


def test_a_module_without_a_gpu_is_held_by_nouveau():
    made = capture(module=None, library=None, nodes=(), gpus=(), error=NO_NVML)
    made.directories["/sys/bus/pci/devices"] = ("0000:01:00.0",)
    base = "/sys/bus/pci/devices/0000:01:00.0"
    made.files.update({f"{base}/vendor": b"0x10de\n", f"{base}/class": b"0x030000\n"})
    made.statuses[f"{base}/driver"] = FileStatus(0o777, "link", 0, 0, "../drivers/nouveau")
    (finding,) = examine(probed(made)).findings
    assert finding.code == "driver.not-installed"
    assert "the GPU is held by nouveau" in finding.seen

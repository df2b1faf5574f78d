"""The PCI bus against the driver: a GPU that one of them lacks."""

import pytest
from captured_host import NO_NVML, add_pci_gpu, capture, codes, gpu, probed

from enginewright.doctor.finding import Severity
from enginewright.doctor.report import text
from enginewright.doctor.walk import examine

TWO = ("nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl")


def test_row_d3_two_gpus_on_the_bus_and_one_in_the_driver():
    """The row's own host: NVML gives no PCI addresses, so both are named."""
    diagnosis = examine(probed(capture(nodes=TWO, pci=2)))
    assert codes(diagnosis) == ["hardware.gpu-without-driver"]
    assert diagnosis.exit_code == 1
    seen = diagnosis.findings[0].seen
    assert "the PCI bus shows 2 NVIDIA GPUs, NVML lists 1" in seen
    assert "0000:01:00.0" in seen
    assert "0000:02:00.0" in seen


def test_row_d3_the_address_that_the_driver_lacks_is_named_alone():
    made = capture(gpus=(gpu(pci_address="00000000:01:00.0"),))
    add_pci_gpu(made, "0000:41:00.0", driver=None)
    (finding,) = examine(probed(made)).findings
    assert finding.seen.endswith("missing: 0000:41:00.0 (kernel driver: none)")


def test_row_d3_the_driver_holding_the_gpu_is_another_one():
    made = capture(gpus=(gpu(pci_address="00000000:01:00.0"),))
    add_pci_gpu(made, "0000:41:00.0", driver="nouveau")
    (finding,) = examine(probed(made)).findings
    assert "0000:41:00.0 (kernel driver: nouveau)" in finding.seen
    assert "blacklist" in finding.fix


def test_row_d3_nvml_is_not_there_and_the_module_lists_one_of_two():
    made = capture(error=NO_NVML, pci=2, gpus=())
    made.directories["/proc/driver/nvidia/gpus"] = ("0000:01:00.0",)
    found = examine(probed(made)).findings
    assert [one.code for one in found] == ["hardware.gpu-without-driver"]
    assert "/proc/driver/nvidia/gpus lists 1; missing: 0000:02:00.0" in found[0].seen


def test_a_gpu_that_is_kept_for_a_virtual_machine_is_not_missing():
    made = capture(gpus=(gpu(pci_address="00000000:01:00.0"),))
    add_pci_gpu(made, "0000:41:00.0", driver="vfio-pci")
    assert codes(examine(probed(made))) == []


def test_a_container_sees_the_bus_of_the_machine_and_its_own_gpus():
    diagnosis = examine(probed(capture(pci=8, container=True)))
    assert codes(diagnosis) == ["container.gpus-not-granted"]
    assert diagnosis.findings[0].severity == Severity.NOTE
    assert diagnosis.exit_code == 0


def test_nvml_counts_more_gpus_than_it_describes():
    made = capture()
    made.nvml = {**made.nvml, "device_count": 2}
    diagnosis = examine(probed(made))
    assert codes(diagnosis) == ["driver.gpu-lost"]
    assert diagnosis.findings[0].seen == "NVML counts 2 GPUs and describes 1"


def test_the_module_has_a_gpu_that_nvml_lost():
    made = capture(gpus=(gpu(pci_address="00000000:01:00.0"),), pci=2)
    made.directories["/proc/driver/nvidia/gpus"] = ("0000:01:00.0", "0000:02:00.0")
    (finding,) = examine(probed(made)).findings
    assert finding.code == "driver.gpu-lost"
    assert "the kernel module has 2 GPUs, NVML lists 1: 0000:02:00.0" in finding.seen


def test_a_driver_that_lists_no_gpu_is_not_in_order():
    diagnosis = examine(probed(capture(gpus=())))
    assert codes(diagnosis) == ["driver.gpu-lost"]
    assert diagnosis.exit_code == 1


def test_a_bus_that_cannot_be_asked_is_a_skipped_check_and_no_order():
    made = capture()
    del made.directories["/sys/bus/pci/devices"]
    made.missing["list /sys/bus/pci/devices"] = "permission denied"
    diagnosis = examine(probed(made))
    assert "Nothing to change" not in text(diagnosis)
    assert "skipped[GPUs of PCI and driver]: the PCI bus cannot be asked: " in text(diagnosis)
    assert "permission denied" in text(diagnosis)
    assert text(diagnosis).endswith(f"{diagnosis.checks} checks, 1 skipped.")
    assert diagnosis.to_json()["skipped"] == [
        {
            "check": "GPUs of PCI and driver",
            "link": "hardware",
            "reason": "the PCI bus cannot be asked: /sys/bus/pci/devices: permission denied",
        }
    ]


@pytest.mark.parametrize("count", [0, 1])
def test_more_gpus_than_the_bus_shows_is_a_warning(count):
    made = capture(gpus=(gpu(), gpu()), nodes=TWO, pci=count)
    assert codes(examine(probed(made))) == ["hardware.gpus-not-on-the-bus"]

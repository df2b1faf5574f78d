"""Variables and MIG decide what a program sees."""

import pytest
from captured_host import capture, codes, gpu, host, probed

from enginewright.doctor.devices import visible_devices
from enginewright.doctor.walk import examine

NODES = ("nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl")
FIRST, SECOND = "GPU-aaaa-1", "GPU-aabb-2"


def two(visible: str | None, order: str | None = None, names=("NVIDIA L4", "NVIDIA L4")):
    made = capture(
        gpus=(gpu(names[0], uuid=FIRST), gpu(names[1], uuid=SECOND)),
        nodes=NODES,
    )
    made.variables.update({"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": order})
    return probed(made)


@pytest.mark.parametrize(
    ("visible", "labels", "expected"),
    [
        (None, [0, 1], []),
        ("0,1", [0, 1], []),
        ("1", [1], ["cuda.visible-devices"]),
        (" 1 , 0 ", [1, 0], []),
        ("GPU-aabb", [1], ["cuda.visible-devices"]),
        ("gpu-AABB-2", [1], ["cuda.visible-devices"]),
        ("", [], ["cuda.no-visible-device"]),
        ("-1", [], ["cuda.no-visible-device"]),
        ("NoDevFiles", [], ["cuda.no-visible-device"]),
        ("7", [], ["cuda.no-visible-device"]),
        ("GPU-aa", [], ["cuda.no-visible-device"]),
        ("0,7,1", [0], ["cuda.unknown-visible-device"]),
        ("0,0", [0], ["cuda.unknown-visible-device"]),
        ("0,-1,1", [0], ["cuda.unknown-visible-device"]),
    ],
)
def test_entries_until_the_first_that_names_no_device(visible, labels, expected):
    seen = two(visible)
    assert [device.gpu for device in visible_devices(seen).devices] == labels
    diagnosis = examine(seen)
    assert codes(diagnosis) == expected
    assert diagnosis.exit_code == (0 if expected in ([], ["cuda.visible-devices"]) else 1)


def test_an_index_means_two_gpus_where_they_differ():
    mixed = ("NVIDIA T4", "NVIDIA L4")
    assert "cuda.device-order" in codes(examine(two("0", names=mixed)))
    assert "cuda.device-order" not in codes(examine(two("0", "PCI_BUS_ID", mixed)))
    assert "cuda.device-order" not in codes(examine(two(FIRST, names=mixed)))


def test_a_uuid_cannot_be_matched_where_nvml_says_none():
    made = capture(gpus=(gpu(uuid={"unknown": "Not Supported"}),))
    made.variables["CUDA_VISIBLE_DEVICES"] = "GPU-1234"
    diagnosis = examine(probed(made))
    (skipped,) = diagnosis.skipped
    assert skipped.check == "visible devices"
    assert skipped.reason == "CUDA_VISIBLE_DEVICES names `GPU-1234`: Not Supported"


def mig(*instances: dict) -> dict:
    return gpu("NVIDIA A100-SXM4-80GB", (8, 0), 80 << 30, mig=True, mig_instances=list(instances))


def test_programs_see_instances_and_not_the_gpu():
    seen = host(gpus=(mig({"uuid": "MIG-1", "memory_total": 10 << 30, "memory_free": 9 << 30}),))
    (device,) = visible_devices(seen).devices
    assert device.label == "MIG instance 0 of GPU 0, NVIDIA A100-SXM4-80GB"
    assert (device.memory_total.value, device.memory_free.value) == (10 << 30, 9 << 30)
    assert codes(examine(seen)) == []


def test_mig_without_an_instance_shows_nothing():
    diagnosis = examine(host(gpus=(mig(),)))
    assert codes(diagnosis) == ["hardware.mig-without-instances"]
    assert "nvidia-smi mig -cgi" in diagnosis.findings[0].fix


def test_an_instance_is_chosen_by_its_uuid():
    made = capture(
        gpus=(
            mig(
                {"uuid": "MIG-aa", "memory_total": 10 << 30, "memory_free": 9 << 30},
                {"uuid": "MIG-bb", "memory_total": 20 << 30, "memory_free": 9 << 30},
            ),
        )
    )
    made.variables["CUDA_VISIBLE_DEVICES"] = "MIG-bb"
    (device,) = visible_devices(probed(made)).devices
    assert device.memory_total.value == 20 << 30


def test_compute_mode_prohibited_lets_no_program_in():
    assert codes(examine(host(gpus=(gpu(compute_mode=2),)))) == ["driver.compute-prohibited"]
    assert codes(examine(host(gpus=(gpu(compute_mode=0),)))) == []

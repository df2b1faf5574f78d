"""NVML's answers become plain data; a fake module stands for pynvml."""

from types import SimpleNamespace

from enginewright.host.gpus import gpus
from enginewright.host.nvml import snapshot


class NotSupportedError(Exception):
    value = 3

    def __str__(self) -> str:
        return "Not Supported"


def raise_not_supported(*_):
    raise NotSupportedError


class FakePynvml:
    def __init__(self, **changed):
        self.shut_down = False
        self.changed = changed

    def __getattr__(self, name):
        answers = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": self._shutdown,
            "nvmlSystemGetDriverVersion": lambda: b"580.159.04",
            "nvmlSystemGetNVMLVersion": lambda: "13.580.159.04",
            "nvmlSystemGetCudaDriverVersion_v2": lambda: 13000,
            "nvmlDeviceGetCount": lambda: 1,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda _: "NVIDIA H200",
            "nvmlDeviceGetUUID": lambda _: "GPU-0",
            "nvmlDeviceGetCudaComputeCapability": lambda _: (9, 0),
            "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=150754820096, free=1),
            "nvmlDeviceGetPciInfo": lambda _: SimpleNamespace(busId=b"00000000:41:00.0"),
            "nvmlDeviceGetMinorNumber": lambda _: 3,
            "nvmlDeviceGetPersistenceMode": lambda _: 1,
            "nvmlDeviceGetComputeMode": lambda _: 2,
            "nvmlDeviceGetEccMode": lambda _: [1, 1],
            "nvmlDeviceGetMigMode": lambda _: [0, 0],
            "nvmlDeviceGetMaxMigDeviceCount": lambda _: 7,
            "nvmlDeviceGetMigDeviceHandleByIndex": self._mig,
            "nvmlDeviceGetEnforcedPowerLimit": lambda _: 700000,
            "nvmlDeviceGetCurrPcieLinkGeneration": lambda _: 5,
            "nvmlDeviceGetMaxPcieLinkGeneration": lambda _: 5,
            "nvmlDeviceGetCurrPcieLinkWidth": lambda _: 16,
            "nvmlDeviceGetMaxPcieLinkWidth": lambda _: 16,
        }
        return {**answers, **self.changed}[name]

    def _shutdown(self):
        self.shut_down = True

    def _mig(self, _, index):
        if index > 1:
            raise NotSupportedError
        return 100 + index


def the_gpu(module):
    (gpu,) = gpus(snapshot(module)).value
    return gpu


def test_all_fields_of_an_h200():
    gpu = the_gpu(FakePynvml())
    assert gpu.name.value == "NVIDIA H200"
    assert gpu.compute_capability.value == "9.0"
    assert gpu.memory_total.value == 150754820096
    assert (gpu.ecc.value, gpu.mig.value, gpu.mig_instances.value) == (True, False, ())
    assert gpu.power_limit_milliwatts.value == 700000
    assert (gpu.pcie_generation.value, gpu.pcie_width_max.value) == (5, 16)


def test_what_the_card_does_not_support_is_unknown_and_not_zero():
    gpu = the_gpu(FakePynvml(nvmlDeviceGetEccMode=raise_not_supported))
    assert (gpu.ecc.value, gpu.ecc.unknown) == (None, "Not Supported")
    assert gpu.mig.value is False


def test_mig_instances_skip_free_slots():
    gpu = the_gpu(FakePynvml(nvmlDeviceGetMigMode=lambda _: [1, 1]))
    assert [item.uuid for item in gpu.mig_instances.value] == ["GPU-0", "GPU-0"]
    first = gpu.mig_instances.value[0]
    assert (first.memory_total.value, first.memory_free.value) == (150754820096, 1)


def test_address_node_and_modes():
    gpu = the_gpu(FakePynvml())
    assert (gpu.pci_address.value, gpu.minor.value) == ("0000:41:00.0", 3)
    assert (gpu.persistence.value, gpu.compute_mode.value) == (True, "prohibited")
    unknown = the_gpu(FakePynvml(nvmlDeviceGetComputeMode=lambda _: 9))
    assert unknown.compute_mode.unknown == "NVML says 9, which nvml.h does not have"


def test_an_entry_that_is_no_device_is_not_dropped():
    (gpu,) = gpus({"devices": ["lost"]}).value
    assert gpu.name.unknown == "not a description of a device"


def test_a_library_that_does_not_start_gives_its_reason_and_code():
    class MismatchError(Exception):
        value = 18

    def fail():
        raise MismatchError("Driver/library version mismatch")

    answer = snapshot(FakePynvml(nvmlInit=fail))
    assert answer == {"error": "Driver/library version mismatch", "code": 18}
    assert gpus(answer).unknown == "NVML: Driver/library version mismatch"


def test_an_old_library_without_a_function_costs_one_fact_only():
    def missing(_):
        raise AttributeError("undefined symbol: nvmlDeviceGetMigMode")

    gpu = the_gpu(FakePynvml(nvmlDeviceGetMigMode=missing))
    assert "undefined symbol" in gpu.mig.unknown
    assert gpu.name.known


def test_a_device_that_cannot_be_opened_keeps_the_others():
    module = FakePynvml(nvmlDeviceGetHandleByIndex=raise_not_supported)
    assert the_gpu(module).name.unknown == "Not Supported"
    assert module.shut_down


def test_a_device_count_that_makes_no_sense_is_cut():
    assert len(snapshot(FakePynvml(nvmlDeviceGetCount=lambda: 10**9))["devices"]) == 64


def test_answers_of_the_wrong_type_in_a_bundle_are_unknown():
    snapshot_from_bundle = {"devices": [{"name": 3, "memory_total": "0", "ecc": 1, "mig": None}]}
    (gpu,) = gpus(snapshot_from_bundle).value
    assert not any(fact.known for fact in (gpu.name, gpu.memory_total, gpu.ecc, gpu.mig))

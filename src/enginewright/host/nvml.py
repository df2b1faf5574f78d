"""Ask NVML, through the module `pynvml` of nvidia-ml-py, for everything the probe wants.

The snapshot is plain JSON data, so that a bundle can carry it: a question that NVML does not answer
is `{"unknown": reason}`, and a library that does not start is `{"error": reason, "code": number}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

LIB_RM_VERSION_MISMATCH = 18
"""NVML_ERROR_LIB_RM_VERSION_MISMATCH of nvml.h: the library and the kernel module differ."""
_SM, _MEMORY = 1, 2
"""NVML_CLOCK_SM and NVML_CLOCK_MEM of nvml.h."""
MAX_DEVICES = 64
"""More than any host has; a broken library must not keep the probe busy."""


def load() -> Mapping[str, Any]:
    """The snapshot of this host, or the reason why there is none."""
    try:
        import pynvml  # type: ignore[import-untyped]
    except ImportError:
        return {"error": "the Python package nvidia-ml-py is not installed"}
    return snapshot(pynvml)


def snapshot(pynvml: Any) -> Mapping[str, Any]:
    """Ask the given NVML module; never raises for what NVML does."""
    try:
        pynvml.nvmlInit()
    except Exception as error:  # a broken installation raises OSError and AttributeError too
        return {"error": _text(error), "code": _code(error)}
    try:
        answer: dict[str, Any] = {
            "driver_version": _ask(lambda: _string(pynvml.nvmlSystemGetDriverVersion())),
            "nvml_version": _ask(lambda: _string(pynvml.nvmlSystemGetNVMLVersion())),
            "cuda_driver_version": _ask(lambda: int(pynvml.nvmlSystemGetCudaDriverVersion_v2())),
        }
        count = _ask(lambda: int(pynvml.nvmlDeviceGetCount()))
        answer["device_count"] = count
        if isinstance(count, int):
            answer["devices"] = [_device(pynvml, index) for index in range(min(count, MAX_DEVICES))]
        return answer
    finally:
        _ask(pynvml.nvmlShutdown)


def _device(pynvml: Any, index: int) -> dict[str, Any]:
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    except Exception as error:
        return {"error": _text(error), "code": _code(error)}
    questions: dict[str, Callable[[], Any]] = {
        "name": lambda: _string(pynvml.nvmlDeviceGetName(handle)),
        "uuid": lambda: _string(pynvml.nvmlDeviceGetUUID(handle)),
        "pci_address": lambda: _string(pynvml.nvmlDeviceGetPciInfo(handle).busId),
        "minor": lambda: int(pynvml.nvmlDeviceGetMinorNumber(handle)),
        "compute_capability": lambda: list(pynvml.nvmlDeviceGetCudaComputeCapability(handle)),
        "memory_total": lambda: int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
        "memory_free": lambda: int(pynvml.nvmlDeviceGetMemoryInfo(handle).free),
        "ecc": lambda: bool(pynvml.nvmlDeviceGetEccMode(handle)[0]),
        "mig": lambda: bool(pynvml.nvmlDeviceGetMigMode(handle)[0]),
        "mig_instances": lambda: _mig_instances(pynvml, handle),
        "persistence": lambda: bool(pynvml.nvmlDeviceGetPersistenceMode(handle)),
        "compute_mode": lambda: int(pynvml.nvmlDeviceGetComputeMode(handle)),
        "power_limit_milliwatts": lambda: int(pynvml.nvmlDeviceGetEnforcedPowerLimit(handle)),
        "sm_clock_mhz": lambda: int(pynvml.nvmlDeviceGetClockInfo(handle, _SM)),
        "memory_clock_mhz": lambda: int(pynvml.nvmlDeviceGetClockInfo(handle, _MEMORY)),
        "greatest_sm_clock_mhz": lambda: int(pynvml.nvmlDeviceGetMaxClockInfo(handle, _SM)),
        "greatest_memory_clock_mhz": lambda: int(pynvml.nvmlDeviceGetMaxClockInfo(handle, _MEMORY)),
        "pcie_generation": lambda: int(pynvml.nvmlDeviceGetCurrPcieLinkGeneration(handle)),
        "pcie_generation_max": lambda: int(pynvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)),
        "pcie_width": lambda: int(pynvml.nvmlDeviceGetCurrPcieLinkWidth(handle)),
        "pcie_width_max": lambda: int(pynvml.nvmlDeviceGetMaxPcieLinkWidth(handle)),
    }
    return {name: _ask(question) for name, question in questions.items()}


def _mig_instances(pynvml: Any, handle: Any) -> list[dict[str, Any]]:
    if not pynvml.nvmlDeviceGetMigMode(handle)[0]:
        return []
    instances = []
    for index in range(min(int(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)), MAX_DEVICES)):
        try:
            instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except Exception:
            continue
        instances.append(_mig_instance(pynvml, instance))
    return instances


def _mig_instance(pynvml: Any, instance: Any) -> dict[str, Any]:
    return {
        "uuid": _string(pynvml.nvmlDeviceGetUUID(instance)),
        "memory_total": _ask(lambda: int(pynvml.nvmlDeviceGetMemoryInfo(instance).total)),
        "memory_free": _ask(lambda: int(pynvml.nvmlDeviceGetMemoryInfo(instance).free)),
    }


def _ask(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except Exception as error:
        return {"unknown": _text(error)}


def _string(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _text(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:300]


def _code(error: Exception) -> int | None:
    code = getattr(error, "value", None)
    return code if isinstance(code, int) else None

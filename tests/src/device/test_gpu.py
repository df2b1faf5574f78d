"""The GPU of a host, as NVML tells it, and the refusal of any other than the one wanted."""

from __future__ import annotations

from typing import Any

import pytest

from enginewright.device import gpu
from enginewright.errors import InputError

H200: dict[str, Any] = {
    "name": "NVIDIA H200",
    "compute_capability": [9, 0],
    "memory_total": 150754820096,
    "memory_free": 150000000000,
    "power_limit_milliwatts": 700000,
    "sm_clock_mhz": 345,
    "memory_clock_mhz": 3201,
    "greatest_sm_clock_mhz": 1980,
    "greatest_memory_clock_mhz": {"unknown": "Not Supported"},
}


def snapshot(*devices: dict[str, Any]) -> dict[str, Any]:
    return {"driver_version": "580.159.04", "devices": list(devices)}


def test_what_can_change_a_measurement_is_told_and_what_a_measurement_changes_is_not():
    assert gpu.find_device(snapshot(H200)) == gpu.DeviceFacts(
        name="NVIDIA H200",
        compute_capability="9.0",
        driver="580.159.04",
        memory_bytes=150754820096,
        greatest_clocks_mhz={"sm": 1980},
        power_limit_watts=700.0,
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"error": "NVML Shared Library Not Found", "code": 12}, "NVML Shared Library Not Found"),
        (snapshot(), "NVML lists none"),
        (snapshot({"error": "GPU is lost", "code": 15}), "GPU is lost"),
    ],
    ids=["no driver", "no GPU", "a lost one"],
)
def test_a_host_without_a_gpu_says_why(answer: dict[str, Any], reason: str):
    with pytest.raises(InputError, match="this host has no NVIDIA GPU") as caught:
        gpu.find_device(answer)
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "NVIDIA H200 NVL", "nvidia h200"])
def test_another_gpu_is_refused_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gpu.nvml, "load", lambda: snapshot({**H200, "name": name}))
    with pytest.raises(InputError, match="another GPU than the one here") as caught:
        gpu.require_device("NVIDIA H200")
    assert name in str(caught.value)
    assert gpu.require_device(name).name == name


def test_memory_and_clocks_of_the_moment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gpu.nvml, "load", lambda: snapshot(H200))
    assert gpu.used_bytes() == 754820096
    assert gpu.clocks_now_mhz() == {"sm": 345, "memory": 3201}
    monkeypatch.setattr(gpu.nvml, "load", lambda: {"error": "gone"})
    assert gpu.used_bytes() is None
    assert gpu.clocks_now_mhz() == {}

"""A toolchain against a host, and a request from one."""

import pytest

from enginewright.doctor.host_fit import host_device, host_problems, host_request
from enginewright.document import decode, read
from enginewright.errors import InputError
from enginewright.host.captured import Capture, CapturedSource
from enginewright.host.probe import probe
from enginewright.toolchains.request import LockRequest
from enginewright.toolchains.toolchain import Toolchain

TOOLCHAIN = decode(
    Toolchain,
    {
        "product": "tensorrt-rtx",
        "version": "1.7.1.116",
        "cuda": "13.0",
        "environment": "lockfiles:tensorrt_rtx",
        "minimum_driver": "580.65.06",
        "compute_capabilities": ["8.9"],
        "onnx": {"opset_min": 9, "opset_max": 25, "ir_max": 13},
        "libraries": {},
    },
    "toolchain.toml",
)


def host(driver="580.159.04", capability=(8, 9), installed="1.7.1.116"):
    module = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Release Build\n"
    device = {"name": "NVIDIA L4", "compute_capability": list(capability)}
    return probe(
        CapturedSource(
            Capture(
                files={"/proc/driver/nvidia/version": module.encode()},
                python_paths=("/p",),
                directories={"/p": (f"tensorrt_rtx_cu13_libs-{installed}.dist-info",)},
                nvml={"devices": [device], "cuda_driver_version": 13000},
            )
        )
    )


def whats(**changes) -> list[str]:
    return [problem.what for problem in host_problems(TOOLCHAIN, host(**changes))]


def test_a_fitting_host():
    assert whats() == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"driver": "550.54.14"}, "the driver is too old"),
        ({"capability": (9, 0)}, "no GPU that the toolchain builds for"),
        ({"installed": "1.7.1.112"}, "another version of tensorrt-rtx is installed"),
    ],
)
def test_each_misfit_is_named(changes, what):
    assert whats(**changes) == [what]


def test_a_bare_host_lacks_driver_and_gpu():
    problems = host_problems(TOOLCHAIN, probe(CapturedSource(Capture())))
    assert [problem.what for problem in problems] == [
        "no driver",
        "no GPU that the toolchain builds for",
    ]


def test_row_36_device_and_driver_of_a_host_are_inputs_of_gpu_bound_steps():
    first, second = host_device(host()), host_device(host(driver="590.10.01"))
    assert (first.name, first.driver) == ("NVIDIA L4", "580.159.04")
    assert first != second
    assert host_device(host(capability=(8, 6))) != first


def test_a_request_from_a_host_can_be_read(tmp_path):
    path = tmp_path / "request.toml"
    path.write_text(host_request(host(), "lockfiles:tensorrt_rtx"), encoding="utf-8")
    request = read(LockRequest, path)
    assert (request.product, request.version, request.cuda) == ("tensorrt-rtx", "1.7.1.116", "13.0")
    assert [str(item) for item in request.compute_capabilities] == ["8.9"]
    assert request.driver == "580.159.04"


def test_a_request_from_a_bare_host_says_everything_that_is_missing():
    with pytest.raises(InputError) as caught:
        host_request(probe(CapturedSource(Capture())), "e")
    for part in ("no product whose", "no GPU with a driver", "CUDA level is unknown"):
        assert part in str(caught.value)

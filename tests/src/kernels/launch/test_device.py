"""The loader against a driver that only remembers; tests/gpu has the real one."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.kernels.descriptor import Value
from enginewright.kernels.launch.device import Device
from enginewright.kernels.launch.launch import Launch
from enginewright.kernels.launch.package import (
    Image,
    KernelPackage,
    PackagedKernel,
)


class FakeDriver:
    """Answers as the driver does: a code, and a value where the call has one."""

    class CUresult:
        CUDA_SUCCESS = 0

    class CUdevice_attribute:  # noqa: N801
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = "major"
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = "minor"

    def __init__(self, capability=(9, 0), failing=()):
        self.capability = dict(zip(("major", "minor"), capability, strict=True))
        self.failing = failing
        self.calls = []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, arguments))
            if name in self.failing:
                return (SimpleNamespace(name="CUDA_ERROR_NO_DEVICE"),)
            if name == "cuDeviceGetAttribute":
                return 0, self.capability[arguments[0]]
            return 0, f"result of {name}"

        return call


@pytest.fixture
def use(monkeypatch):
    def install(driver):
        package = ModuleType("cuda.bindings")
        package.driver = driver
        monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
        monkeypatch.setitem(sys.modules, "cuda.bindings", package)
        return driver

    return install


@pytest.fixture
def package(tmp_path):
    path = tmp_path / "scale.sm_90.cubin"
    path.write_bytes(b"machine code")
    kernel = PackagedKernel("scale", (Value("count", "int64"),), 256, "scale")
    image = Image(path, FileDigest.of(path), ComputeCapability(9, 0), is_ptx=False)
    return KernelPackage({"scale": kernel}, {"scale": (image,)})


def test_load_and_launch(use, package):
    driver = use(FakeDriver())
    kernels = Device(0).load(package)
    kernels.launch(Launch("scale", (3, 1, 1), (64, 2, 1), (5,)), stream=77)
    assert ("cuModuleLoadData", (b"machine code\0",)) in driver.calls
    name, arguments = driver.calls[-1]
    assert name == "cuLaunchKernel"
    assert arguments[:9] == ("result of cuModuleGetFunction", 3, 1, 1, 64, 2, 1, 0, 77)
    assert arguments[9][0] == (5,)


def test_a_device_that_no_code_fits(use, package):
    use(FakeDriver(capability=(8, 9)))
    with pytest.raises(InputError, match="no code in the package of `scale` runs on this device"):
        Device(0).load(package)


def test_no_device(use):
    use(FakeDriver(failing=("cuInit",)))
    with pytest.raises(InputError) as caught:
        Device(0)
    (problem,) = caught.value.problems
    assert problem.what == "no CUDA device"
    assert problem.actual == "cuInit: CUDA_ERROR_NO_DEVICE"


def test_no_bindings(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(InputError, match="the CUDA driver cannot be reached from Python"):
        Device(0)


def test_a_launch_that_does_not_fit_never_reaches_the_driver(use, package):
    driver = use(FakeDriver())
    kernels = Device(0).load(package)
    with pytest.raises(InputError, match="wrong number of arguments"):
        kernels.launch(Launch("scale", (1, 1, 1), (1, 1, 1), ()))
    assert driver.calls[-1][0] != "cuLaunchKernel"

"""Load packaged kernels onto a CUDA device and launch them, through the driver.

`cuda-bindings` is imported when a device is opened, so that everything else works without it.
"""

from __future__ import annotations

from typing import Any

from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, Problem
from enginewright.kernels.launch.image_choice import image_for
from enginewright.kernels.launch.launch import Launch
from enginewright.kernels.launch.package import KernelPackage


class Device:
    """The primary context of a device, which CUDA's runtime and torch use too."""

    def __init__(self, ordinal: int = 0) -> None:
        """Raises `InputError` where there is no driver or no such device."""
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise InputError(
                Problem(
                    "the CUDA driver cannot be reached from Python",
                    "cuda-bindings",
                    actual=str(error),
                    fix="install the package cuda-bindings",
                )
            ) from error
        self._driver: Any = driver
        try:
            self.call("cuInit", 0)
            self._device = self.call("cuDeviceGet", ordinal)
        except RuntimeError as error:
            raise InputError(
                Problem(
                    "no CUDA device",
                    f"device {ordinal}",
                    actual=str(error),
                    fix="run this on a host with an NVIDIA GPU and its driver",
                )
            ) from error
        context = self.call("cuDevicePrimaryCtxRetain", self._device)
        self.call("cuCtxSetCurrent", context)

    @property
    def compute_capability(self) -> ComputeCapability:
        attributes = self._driver.CUdevice_attribute
        major = attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        minor = attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
        return ComputeCapability(
            self.call("cuDeviceGetAttribute", major, self._device),
            self.call("cuDeviceGetAttribute", minor, self._device),
        )

    def load(self, package: KernelPackage) -> LoadedKernels:
        """Load the code of every source; raises `InputError` where none fits this device."""
        return LoadedKernels(self, package)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call the driver; raises `RuntimeError` with the driver's name for a failure."""
        code, *values = getattr(self._driver, name)(*arguments)
        if code != self._driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"{name}: {getattr(code, 'name', code)}")
        return values[0] if values else None


class LoadedKernels:
    """The kernels of a package on a device; they stay loaded as long as the device's context."""

    def __init__(self, device: Device, package: KernelPackage) -> None:
        self._device = device
        self._package = package
        capability = device.compute_capability
        chosen = {
            source: image_for(capability, images, source)
            for source, images in package.images.items()
        }
        self._modules = {
            source: device.call("cuModuleLoadData", image.read() + b"\0")
            for source, image in chosen.items()
        }
        self._functions = {
            name: device.call("cuModuleGetFunction", self._modules[kernel.source], name.encode())
            for name, kernel in package.kernels.items()
        }

    def launch(self, launch: Launch, stream: int = 0) -> None:
        """Queue a launch on a stream (its handle; 0 is the default one).

        Raises `InputError` for a launch that does not fit the kernel. Errors inside the kernel
        appear where the stream is next waited for.
        """
        kernel = self._package.kernel(launch.kernel)
        launch.check(kernel)
        arguments = (launch.arguments, launch.c_types(kernel))
        self._device.call(
            "cuLaunchKernel",
            self._functions[launch.kernel],
            *launch.grid,
            *launch.block,
            0,
            stream,
            arguments,
            0,
        )

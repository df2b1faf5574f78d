"""Choose the code that a device can run."""

from __future__ import annotations

from collections.abc import Sequence

from enginewright.compatibility.device_code import binary_runs, closeness, ptx_runs
from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, Problem
from enginewright.kernels.launch.package import Image


def image_for(device: ComputeCapability, images: Sequence[Image], source: str) -> Image:
    """The best image for a device's compute capability: the nearest cubin, else the nearest PTX.

    Raises `InputError` that lists what there is when nothing fits.
    """
    cubins = [
        image
        for image in images
        if not image.is_ptx and binary_runs(image.compute_capability, device)
    ]
    forward = [
        image for image in images if image.is_ptx and ptx_runs(image.compute_capability, device)
    ]
    fitting = cubins or forward
    if fitting:
        return max(fitting, key=lambda image: closeness(image.compute_capability))
    there = ", ".join(
        f"{'PTX' if image.is_ptx else 'cubin'} {image.compute_capability}" for image in images
    )
    raise InputError(
        Problem(
            f"no code in the package of `{source}` runs on this device",
            f"device of compute capability {device}",
            f"a cubin of {device.major}.0 to {device}, or PTX of at most {device}",
            there or "nothing",
            f'add "{device}" to the `compute_capabilities` of the kernels',
        )
    )

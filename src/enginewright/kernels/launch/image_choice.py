"""Choose the code that a device can run.

A cubin runs on devices of its major compute capability with the same or a higher minor one; PTX is
compiled by the driver for any device from its compute capability on (CUDA C++ Programming Guide,
"Binary Compatibility" and "PTX Compatibility").
"""

from __future__ import annotations

from collections.abc import Sequence

from enginewright.errors import InputError, Problem
from enginewright.kernels.launch.package import Image


def image_for(device: tuple[int, int], images: Sequence[Image], source: str) -> Image:
    """The best image for a device's compute capability: the nearest cubin, else the nearest PTX.

    Raise `InputError` that lists what there is when nothing fits.
    """
    cubins = [
        image
        for image in images
        if not image.is_ptx
        and image.compute_capability[0] == device[0]
        and image.compute_capability[1] <= device[1]
    ]
    forward = [image for image in images if image.is_ptx and image.compute_capability <= device]
    fitting = cubins or forward
    if fitting:
        return max(fitting, key=lambda image: image.compute_capability)
    there = ", ".join(
        f"{'PTX' if image.is_ptx else 'cubin'} {image.compute_capability[0]}."
        f"{image.compute_capability[1]}"
        for image in images
    )
    raise InputError(
        Problem(
            f"no code in the package of `{source}` runs on this device",
            f"device of compute capability {device[0]}.{device[1]}",
            f"a cubin of {device[0]}.0 to {device[0]}.{device[1]}, or PTX of at most "
            f"{device[0]}.{device[1]}",
            there or "nothing",
            f'Add "{device[0]}.{device[1]}" to the `compute_capabilities` of the kernels.',
        )
    )

from pathlib import Path

import pytest

from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.kernels.launch.image_choice import image_for
from enginewright.kernels.launch.package import Image


def image(major, minor, variant="", *, is_ptx=False):
    capability = ComputeCapability(major, minor, variant)
    return Image(Path("x"), FileDigest("", 0), capability, is_ptx)


CUBINS = [image(8, 0), image(8, 6), image(9, 0)]
PTX = image(9, 0, is_ptx=True)


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ((8, 0), image(8, 0)),
        ((8, 6), image(8, 6)),
        ((8, 9), image(8, 6)),  # the nearest lower minor version
        ((9, 0), image(9, 0)),  # a cubin before PTX
        ((10, 0), PTX),
        ((12, 1), PTX),
    ],
)
def test_the_nearest_code_that_fits(device, expected):
    assert image_for(ComputeCapability(*device), [*CUBINS, PTX], "scale") == expected


@pytest.mark.parametrize("device", [(7, 5), (10, 0)])
def test_a_device_that_nothing_fits_is_refused_in_words(device):
    with pytest.raises(InputError) as caught:
        image_for(ComputeCapability(*device), CUBINS, "scale")
    (problem,) = caught.value.problems
    name = f"{device[0]}.{device[1]}"
    assert problem.what == "no code in the package of `scale` runs on this device"
    assert problem.where == f"device of compute capability {name}"
    assert problem.actual == "cubin 8.0, cubin 8.6, cubin 9.0"
    assert problem.fix == f'add "{name}" to the `compute_capabilities` of the kernels'


def test_ptx_does_not_run_on_an_older_device():
    with pytest.raises(InputError, match="runs on this device"):
        image_for(ComputeCapability(8, 9), [PTX], "scale")


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ((9, 0), image(9, 0, "a")),
        ((10, 0), image(10, 0, "f")),
        ((10, 3), image(10, 0, "f")),
        ((12, 1), image(12, 0)),
    ],
)
def test_code_of_a_variant_runs_on_its_chip_or_its_family(device, expected):
    images = [image(9, 0), image(9, 0, "a"), image(10, 0, "f"), image(12, 0), image(12, 0, "a")]
    assert image_for(ComputeCapability(*device), images, "scale") == expected


def test_ptx_of_a_variant_runs_on_nothing_newer():
    with pytest.raises(InputError, match="runs on this device"):
        image_for(ComputeCapability(10, 0), [image(9, 0, "a", is_ptx=True)], "scale")

"""Which code runs on which device: the CUDA programming guide's rules."""

import pytest

from enginewright.compatibility.device_code import binary_runs, closeness, ptx_runs
from enginewright.compatibility.version import ComputeCapability


@pytest.mark.parametrize(
    ("code", "device", "binary", "ptx"),
    [
        ("8.0", "8.0", True, True),
        ("8.0", "8.9", True, True),
        ("8.9", "8.6", False, False),
        ("8.0", "9.0", False, True),
        ("9.0a", "9.0", True, True),
        ("9.0a", "10.0", False, False),
        ("10.0a", "10.3", False, False),
        ("10.0f", "10.3", True, True),
        ("10.3f", "10.0", False, False),
        ("10.0f", "12.0", False, False),
        ("12.0f", "12.1", True, True),
    ],
)
def test_code_and_device(code, device, binary, ptx):
    pair = ComputeCapability.parse(code), ComputeCapability.parse(device)
    assert (binary_runs(*pair), ptx_runs(*pair)) == (binary, ptx)


def test_the_closest_code_is_the_one_for_the_chip_then_for_the_family():
    found = [ComputeCapability.parse(text) for text in ("10.0a", "10.0", "10.0f")]
    assert [str(one) for one in sorted(found, key=closeness)] == ["10.0", "10.0f", "10.0a"]

"""Products against compute capabilities and precisions."""

import pytest

from enginewright.compatibility.product import known_products, precisions_on, product_row
from enginewright.compatibility.version import ComputeCapability


def precisions(version: str, capability: str):
    return precisions_on(product_row("tensorrt-rtx", version), ComputeCapability.parse(capability))


def test_tensorrt_for_rtx_does_not_run_on_data_center_gpus_of_9_0():
    assert precisions("1.7.1.116", "9.0") is None


@pytest.mark.parametrize(
    ("capability", "expected"), [("8.6", False), ("8.9", True), ("12.0", True), ("7.5", False)]
)
def test_fp8_needs_8_9(capability, expected):
    assert ("fp8" in precisions("1.7.1.116", capability)) is expected


def test_an_exact_version_comes_before_its_release():
    assert product_row("tensorrt-rtx", "1.7.1.116").key == "tensorrt-rtx 1.7.1.116"
    assert product_row("tensorrt-rtx", "1.5.0.12").key == "tensorrt-rtx 1.5"
    assert product_row("tensorrt-rtx", "9.9.9.9") is None


def test_the_variant_of_a_capability_does_not_matter_to_a_product():
    assert precisions("1.7.1.116", "12.0a") == precisions("1.7.1.116", "12.0")


def test_known_products():
    assert known_products() == ["tensorrt", "tensorrt-rtx"]

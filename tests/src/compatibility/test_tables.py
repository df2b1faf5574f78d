"""The tables agree with themselves and with each other."""

import pytest

from enginewright.compatibility.driver import minimum_driver
from enginewright.compatibility.product import PRECISIONS
from enginewright.compatibility.tables import TABLES, find, row, table
from enginewright.compatibility.version import ComputeCapability, Version
from enginewright.errors import InputError


@pytest.mark.parametrize("name", TABLES)
def test_every_row_names_its_source(name):
    assert len(table(name)) > 0
    for found in table(name).values():
        assert len(found.source) > 20, found.key


def versions(name: str, field: str | None = None) -> list[Version]:
    return [Version.parse(found[field] if field else key) for key, found in table(name).items()]


def test_newer_cuda_releases_need_newer_drivers():
    assert versions("driver_cuda") == sorted(versions("driver_cuda"))
    assert versions("driver_cuda", "driver") == sorted(versions("driver_cuda", "driver"))


def test_minor_compatibility_is_one_driver_a_major_and_never_above_the_releases_own():
    minima: dict[int, set[str]] = {}
    for key, found in table("driver_cuda").items():
        minimum = found.values.get("minor_compatible_driver")
        if minimum is None:
            assert Version.parse(key).major < 11
            continue
        assert Version.parse(minimum) <= Version.parse(found["driver"]), key
        minima.setdefault(Version.parse(key).major, set()).add(minimum)
    # CUDA 11.0 alone has its own, older minimum.
    assert minima == {
        11: {"450.36.06", "450.80.02"},
        12: {"525.60.13"},
        13: {"580.65.06"},
    }


def test_compatibility_packages_hold_the_driver_branch_of_their_release():
    for key, found in table("forward_compatibility").items():
        major, minor = key.split(".")
        assert found["package"] == f"cuda-compat-{major}-{minor}"
        assert row("driver_cuda", key)["driver"].split(".")[0] == found["driver_branch"]


def test_ptx_and_cuda_grow_together():
    assert versions("ptx") == sorted(versions("ptx"))
    assert versions("ptx", "cuda") == sorted(versions("ptx", "cuda"))


def test_toolkits_have_a_driver_row_and_write_the_ptx_of_their_release():
    for key, found in table("toolkit").items():
        assert minimum_driver(key) is not None
        emitted = row("ptx", found["ptx"])
        assert Version.parse(emitted["cuda"]) <= Version.parse(key)


def test_newer_toolkits_accept_newer_compilers():
    for field in ("gcc_max", "clang_max"):
        limits = [found[field] for found in table("toolkit").values()]
        assert limits == sorted(limits)


def test_capabilities_are_written_one_way_and_once():
    for name in ("toolkit", "torch_wheel"):
        for found in table(name).values():
            texts = found["compute_capabilities"]
            assert [str(ComputeCapability.parse(text)) for text in texts] == texts
            assert len(set(texts)) == len(texts)


def test_torch_wheels_are_compiled_for_what_their_toolkit_knows():
    for found in table("torch_wheel").values():
        toolkit = find("toolkit", found["cuda"])
        if toolkit is not None:
            assert set(found["compute_capabilities"]) <= set(toolkit["compute_capabilities"])


def test_products_name_known_precisions_and_lower_ones_are_never_lost():
    for found in table("product").values():
        for capability, precisions in found["precisions"].items():
            assert str(ComputeCapability.parse(capability)) == capability
            assert set(precisions) <= set(PRECISIONS)
            assert "fp16" in precisions


def test_every_product_of_four_fields_has_a_row_for_its_onnx_parser():
    for key in table("product"):
        if key.count(".") == 3:
            assert find("onnx_reader", key) is not None


def test_onnx_releases_never_lose_a_version():
    rows = [found for key, found in table("onnx_reader").items() if key.startswith("onnx ")]
    for field in ("opset_max", "ir_max"):
        assert [found[field] for found in rows] == sorted(found[field] for found in rows)


def test_gpus_have_a_capability_that_some_toolkit_compiles_for():
    newest = row("toolkit", "13.0")["compute_capabilities"]
    for found in table("gpu").values():
        assert found["compute_capability"] in newest
        assert found.values.get("cuda_memory_mib", 0) < found["memory_mib"]


def test_unknown_table_and_row_list_what_there_is():
    with pytest.raises(InputError, match="driver_cuda"):
        table("drivers")
    with pytest.raises(InputError, match=r"`13\.0`"):
        row("driver_cuda", "99.9")


def test_a_row_is_shown_with_its_source():
    text = row("driver_cuda", "13.0").text()
    assert text.splitlines()[:2] == ["driver_cuda row `13.0`", "  driver: 580.65.06"]
    assert "source: CUDA Toolkit Release Notes" in text

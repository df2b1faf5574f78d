"""Resolving a request: the exact text, and every refusal with its row."""

import hashlib

import pytest

from enginewright.compatibility.product import parser_row
from enginewright.compatibility.version import ComputeCapability
from enginewright.document import decode, encode, read
from enginewright.errors import InputError
from enginewright.toolchains.lock_file import parse_lock_file, selected
from enginewright.toolchains.markers import linux_x86_64
from enginewright.toolchains.request import LockRequest
from enginewright.toolchains.resolve import LockFacts, resolve
from enginewright.toolchains.toolchain import Device, Toolchain

DIGEST = hashlib.sha256(b"library").hexdigest()
LIBRARIES = {"tensorrt_rtx.so": DIGEST, "libtensorrt_rtx.so.1": DIGEST}
REQUEST = {
    "product": "tensorrt-rtx",
    "cuda": "13.0",
    "compute_capabilities": ["12.0", "8.6", "sm_89"],
    "environment": "lockfiles:tensorrt_rtx",
}
TEXT = f"""\
# Written by `enginewright lock-toolchain`; change the request and write it again.
# minimum_driver: driver_cuda row `13.0`
# compute_capabilities: product row `tensorrt-rtx 1.7.1.116`
# onnx: onnx_reader row `tensorrt-rtx 1.7.1.116`
product = "tensorrt-rtx"
version = "1.7.1.116"
cuda = "13.0"
environment = "lockfiles:tensorrt_rtx"
minimum_driver = "580.65.06"
compute_capabilities = ["8.6", "8.9", "12.0"]

[onnx]
opset_min = 9
opset_max = 25
ir_max = 13

[libraries]
"libtensorrt_rtx.so.1" = "{DIGEST}"
"tensorrt_rtx.so" = "{DIGEST}"
"""


def lock(*lines: str):
    text = "".join(f"{line} --hash=sha256:{DIGEST}\n" for line in lines)
    return selected(parse_lock_file(text, "lock"), linux_x86_64("3.11"))


def rtx(version: str = "1.7.1.116", major: int = 13) -> LockFacts:
    names = (f"tensorrt-rtx-cu{major}-libs", f"tensorrt-rtx-cu{major}-bindings")
    return LockFacts(lock(*(f"{name}=={version}" for name in names)), LIBRARIES)


def refusal(facts: LockFacts | None = None, **changes: object) -> str:
    with pytest.raises(InputError) as caught:
        resolve(decode(LockRequest, {**REQUEST, **changes}, "request.toml"), facts or rtx())
    return str(caught.value)


def test_the_text_byte_for_byte():
    assert resolve(decode(LockRequest, REQUEST, "request.toml"), rtx()).text() == TEXT


def test_the_order_of_a_request_does_not_matter():
    shuffled = dict(reversed(REQUEST.items()))
    shuffled["compute_capabilities"] = ["8.9", "8.6", "12.0", "8.6"]
    facts = LockFacts(rtx().locked, dict(reversed(LIBRARIES.items())))
    assert resolve(decode(LockRequest, shuffled, "request.toml"), facts).text() == TEXT


def test_the_text_reads_back(tmp_path):
    resolved = resolve(decode(LockRequest, REQUEST, "request.toml"), rtx())
    path = tmp_path / "t.toml"
    path.write_text(resolved.text(), encoding="utf-8")
    assert read(Toolchain, path) == resolved.toolchain


def test_impossible_compute_capability_names_the_product_row():
    text = refusal(compute_capabilities=["8.9", "9.0"])
    assert "tensorrt-rtx 1.7.1.116 does not run on compute capability 9.0" in text
    assert "product row `tensorrt-rtx 1.7.1.116`" in text


def test_impossible_cuda_names_the_product_row():
    text = refusal(rtx(major=14), cuda="14.0")
    assert "CUDA 14.0 is newer than what tensorrt-rtx 1.7.1.116 is made for" in text
    assert "product row `tensorrt-rtx 1.7.1.116`" in text


def test_impossible_toolkit_names_the_toolkit_row():
    text = refusal(toolkit="12.4")
    assert "CUDA toolkit 12.4 cannot compile for compute capability 12.0" in text
    assert "toolkit row `12.4`" in text


def test_impossible_driver_names_the_driver_row():
    text = refusal(driver="550.54.14")
    assert "driver 550.54.14 is older than what CUDA 13.0 needs" in text
    assert "driver_cuda row `13.0`" in text
    assert "580.65.06 or newer" in text


def test_impossible_precision_names_the_product_row():
    text = refusal(precisions=["fp8", "fp16"])
    assert "has no fp8 on compute capability 8.6" in text
    assert "on compute capability 8.9" not in text
    assert "product row `tensorrt-rtx 1.7.1.116`" in text


def test_impossible_version_lists_the_known_ones():
    text = refusal(rtx("1.9.0.1"))
    assert "unknown version of tensorrt-rtx" in text
    assert "1.7.1.116" in text


def test_impossible_host_compiler_names_the_toolkit_row():
    assert "does not accept gcc 13.2" in refusal(
        toolkit="12.1", gcc="13.2", compute_capabilities=["8.9"]
    )


def test_all_exclusions_at_once():
    text = refusal(compute_capabilities=["9.0"], driver="525.60.13", toolkit="12.4", gcc="14.1")
    for part in ("compute capability 9.0", "driver 525.60.13", "gcc 14.1"):
        assert part in text


def test_row_01_bindings_and_libraries_of_different_builds_are_refused():
    facts = LockFacts(
        lock("tensorrt-rtx-cu13-libs==1.7.1.116", "tensorrt-rtx-cu13-bindings==1.7.1.112"),
        LIBRARIES,
    )
    assert "do not agree in all four fields" in refusal(facts)


def test_row_01_a_request_for_another_build_than_the_locks_is_refused():
    assert "do not agree in all four fields" in refusal(version="1.7.1.112")


def test_the_lock_file_must_have_the_product():
    text = refusal(LockFacts(lock("numpy==2.4.6"), LIBRARIES))
    assert "does not have tensorrt-rtx for CUDA 13" in text
    assert "tensorrt-rtx-cu13-libs" in text


def test_no_libraries_is_refused():
    assert "no library hashes" in refusal(LockFacts(rtx().locked, {}))


GPU_BOUND = {
    **REQUEST,
    "product": "tensorrt",
    "cuda": "12.4",
    "compute_capabilities": ["8.9"],
}
L4 = {"name": "NVIDIA L4", "compute_capability": "8.9", "driver": "580.65.06"}


def classic() -> LockFacts:
    return LockFacts(lock("tensorrt-cu12==10.1.0.27"), LIBRARIES)


def test_a_gpu_bound_product_needs_a_device():
    assert "no GPU is named" in refusal(classic(), **GPU_BOUND)


def test_the_device_of_a_request_is_part_of_the_toolchain(tmp_path, monkeypatch):
    # No version of a GPU-bound product has a row in both tables yet: take another product's.
    reader = parser_row("tensorrt", "11.4.0.1")
    monkeypatch.setattr("enginewright.toolchains.resolve.parser_row", lambda *_: reader)
    resolved = resolve(decode(LockRequest, {**GPU_BOUND, "device": L4}, "r"), classic())
    assert resolved.toolchain.device == Device("NVIDIA L4", ComputeCapability(8, 9), "580.65.06")
    assert resolved.text().endswith(
        '\n[device]\nname = "NVIDIA L4"\ncompute_capability = "8.9"\ndriver = "580.65.06"\n'
    )
    path = tmp_path / "t.toml"
    path.write_text(resolved.text(), encoding="utf-8")
    assert read(Toolchain, path) == resolved.toolchain


def test_a_device_that_is_no_target_or_too_old_is_refused():
    text = refusal(
        classic(), **GPU_BOUND, device={**L4, "compute_capability": "8.6", "driver": "450.1"}
    )
    assert "builds for the GPU that it builds on, and that is no target" in text
    assert "the driver of NVIDIA L4 is older than what CUDA 12.4 needs" in text


def test_the_device_of_a_product_that_is_bound_to_none_is_not_kept():
    resolved = resolve(decode(LockRequest, {**REQUEST, "device": L4}, "request.toml"), rtx())
    assert resolved.text() == TEXT


def test_a_toolchain_says_what_its_document_says():
    document = {
        "product": "tensorrt",
        "version": "10.1.0.27",
        "cuda": "12.4",
        "environment": "e:e",
        "minimum_driver": "525.60.13",
        "compute_capabilities": ["8.9"],
        "onnx": {"opset_min": 9, "opset_max": 20, "ir_max": 9},
        "libraries": {"libnvinfer.so.10": DIGEST},
        "device": L4,
    }
    assert encode(decode(Toolchain, document, "t")) == document


def test_every_problem_of_a_request_at_once():
    with pytest.raises(InputError) as caught:
        decode(LockRequest, {"product": 3, "cuda": "13.0", "speed": 1}, "request.toml")
    text = str(caught.value)
    for part in (
        "request.toml, product",
        "unknown field `speed`",
        "`environment` is missing",
    ):
        assert part in text


def test_values_of_a_request_are_checked():
    with pytest.raises(InputError) as caught:
        decode(
            LockRequest,
            {
                **REQUEST,
                "product": "openvino",
                "cuda": "13",
                "compute_capabilities": ["x"],
                "precisions": ["fp64"],
            },
            "request.toml",
        )
    text = str(caught.value)
    for part in ("tensorrt, tensorrt-rtx", "a release, such as", "precisions[0]", "not a compute"):
        assert part in text


@pytest.mark.parametrize("data", [b"product = ", b"\xff\xfe", b"[" * 5000, b"x = 1" * 2])
def test_a_request_that_is_no_toml(tmp_path, data):
    (tmp_path / "r.toml").write_bytes(data)
    with pytest.raises(InputError, match="not a TOML file"):
        read(LockRequest, tmp_path / "r.toml")

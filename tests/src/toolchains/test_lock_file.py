"""Lock files in requirements form."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginewright.errors import InputError
from enginewright.toolchains.lock_file import parse_lock_file, selected
from enginewright.toolchains.markers import linux_x86_64

LINUX_X86_64 = linux_x86_64("3.11")
MACOS_ARM64 = {
    **LINUX_X86_64,
    "platform_system": "Darwin",
    "sys_platform": "darwin",
    "platform_machine": "arm64",
}

A, B = "a" * 64, "b" * 64


def test_names_versions_markers_and_hashes():
    text = (
        "# made by uv\n"
        "TensorRT_RTX.cu13-libs==1.7.1.116 ; sys_platform == 'linux' \\\n"
        f"    --hash=sha256:{B} \\\n"
        f"    --hash=sha256:{A}\n"
        "    # via -r in.txt\n"
        f"numpy==2.4.6 --hash=sha256:{A}\n"
    )
    first, second = parse_lock_file(text, "lock.txt")
    assert (first.name, first.version) == ("tensorrt-rtx-cu13-libs", "1.7.1.116")
    assert str(first.marker) == 'sys_platform == "linux"'
    assert first.hashes == (A, B)
    assert second.name == "numpy"


def test_every_bad_line_is_named():
    with pytest.raises(InputError) as caught:
        parse_lock_file("numpy\ntorch>=2\nsafetensors==0.8.0\n", "lock.txt")
    text = str(caught.value)
    assert "lock.txt, line 1" in text
    assert "lock.txt, line 2" in text
    assert "`safetensors` has no hash" in text


def test_row_38_one_lock_for_linux_and_mac_is_two_variants_by_marker():
    text = (
        f"torch==2.13.0+cpu ; sys_platform == 'linux' --hash=sha256:{A}\n"
        f"torch==2.13.0 ; sys_platform == 'darwin' --hash=sha256:{B}\n"
    )
    packages = parse_lock_file(text, "lock.txt")
    assert selected(packages, LINUX_X86_64)["torch"].version == "2.13.0+cpu"
    assert selected(packages, MACOS_ARM64)["torch"].version == "2.13.0"


def test_row_38_two_variants_for_one_platform_are_refused():
    text = f"torch==2.13.0+cu130 --hash=sha256:{A}\ntorch==2.13.0+cpu --hash=sha256:{B}\n"
    with pytest.raises(InputError) as caught:
        selected(parse_lock_file(text, "lock.txt"), LINUX_X86_64)
    assert "two versions of `torch` for one platform" in str(caught.value)
    assert "one lock file for each variant" in str(caught.value)


@given(st.text(max_size=300))
def test_fuzz_any_text_is_read_or_refused(text):
    with contextlib.suppress(InputError):
        selected(parse_lock_file(text, "lock.txt"), LINUX_X86_64)

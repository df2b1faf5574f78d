"""Environment markers."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginewright.errors import InputError
from enginewright.toolchains.marker import LINUX_X86_64, MACOS_ARM64, holds

TORCH = "platform_system == 'Linux' and platform_machine == 'x86_64'"


@pytest.mark.parametrize(
    ("marker", "linux", "mac"),
    [
        ("", True, True),
        (TORCH, True, False),
        ("sys_platform != 'linux'", False, True),
        ("python_version < '3.12'", True, True),
        ("python_full_version >= '3.11.0' and python_version < '3.9'", False, False),
        ("(os_name == 'nt' or sys_platform == \"darwin\")", False, True),
        ("platform_machine in 'x86_64 amd64'", True, False),
        ("platform_machine not in 'x86_64 amd64'", False, True),
        ("python_version ~= '3.10'", True, True),
        ("os_name == 'nt' and sys_platform == 'linux' or python_version > '3'", True, True),
    ],
)
def test_markers(marker, linux, mac):
    assert holds(marker, LINUX_X86_64) is linux
    assert holds(marker, MACOS_ARM64) is mac


@pytest.mark.parametrize(
    "marker",
    ["(", "os_name", "os_name ==", "x == 'y'", "os_name = 'nt'", "'a' == 'a' b", "(" * 300],
)
def test_broken_markers_are_refused(marker):
    with pytest.raises(InputError, match="marker cannot be read"):
        holds(marker, LINUX_X86_64)


@given(st.text("()'\" =<>!andorit_python.3", max_size=80))
def test_fuzz_any_text_is_a_marker_or_refused(text):
    with contextlib.suppress(InputError):
        assert holds(text, LINUX_X86_64) in (True, False)

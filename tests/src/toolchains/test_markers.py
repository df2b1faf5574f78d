"""Environment markers."""

import pytest
from packaging.markers import Marker, default_environment

from enginewright.toolchains.markers import holds, linux_x86_64


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("platform_system == 'Linux' and platform_machine == 'x86_64'", True),
        ("sys_platform != 'linux'", False),
        ("python_version < '3.12'", True),
        ("python_full_version >= '3.11.0' and python_version < '3.9'", False),
        ("platform_machine in 'x86_64 amd64'", True),
        ("platform_machine not in 'x86_64 amd64'", False),
        ("python_version ~= '3.10'", True),
        ("implementation_name == 'cpython' and implementation_version >= '3.11'", True),
        ("extra == 'cuda'", False),
    ],
)
def test_markers(marker: str, expected: bool) -> None:
    assert holds(Marker(marker), linux_x86_64("3.11")) is expected


def test_a_requirement_without_a_marker_counts() -> None:
    assert holds(None, linux_x86_64("3.11"))


def test_an_extra_counts_where_it_is_asked_for() -> None:
    assert holds(Marker("extra == 'cuda'"), linux_x86_64("3.11"), ["cuda"])
    assert not holds(Marker("extra == 'cuda'"), linux_x86_64("3.11"), ["rocm"])


def test_the_host_has_no_say() -> None:
    """`packaging` fills in what an environment lacks from the host that it runs on."""
    assert {*linux_x86_64("3.11")} == {*default_environment()}

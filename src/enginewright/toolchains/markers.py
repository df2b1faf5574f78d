"""The environment that a lock is for, as the markers of requirements see it (PEP 508)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.markers import Marker


def linux_x86_64(python: str) -> Mapping[str, str]:
    """For which `./pants generate-lockfiles` resolves; `python` is `major.minor`.

    It has every variable that a marker may ask for: `packaging` takes those of the host where one
    is absent.
    """
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }


def holds(
    marker: Marker | None, environment: Mapping[str, str], extras: Iterable[str] = ()
) -> bool:
    """Whether a requirement counts there, for the package itself or for one of its `extras`."""
    return marker is None or any(
        marker.evaluate({**environment, "extra": extra}) for extra in ("", *extras)
    )

"""Driver and CUDA: what a driver runs, what a CUDA release needs."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.compatibility.tables import Row, find, table
from enginewright.compatibility.version import Version


@dataclass(frozen=True)
class DriverRequirement:
    """The oldest driver for a CUDA release.

    From CUDA 11 on it rests on minor-version compatibility: then PTX and the features of newer
    drivers are not available on the minimum itself.
    """

    minimum: Version
    row: Row


def minimum_driver(cuda: str) -> DriverRequirement | None:
    """The oldest driver on which programs of CUDA release `cuda` (major.minor) run.

    None when the tables have no row for the release.
    """
    found = find("driver_cuda", cuda) or _newest_of_major(cuda)
    if found is None:
        return None
    minimum = found.values.get("minor_compatible_driver", found["driver"])
    return DriverRequirement(Version.parse(minimum), found)


def _newest_of_major(cuda: str) -> Row | None:
    """A release newer than the table's, of a major that it has: minor-version compatibility."""
    major = Version.parse(cuda).major
    rows = [row for key, row in table("driver_cuda").items() if Version.parse(key).major == major]
    if not rows or Version.parse(cuda) < Version.parse(rows[-1].key):
        return None
    return rows[-1] if "minor_compatible_driver" in rows[-1].values else None


def newest_cuda(driver: str) -> Row | None:
    """The newest CUDA release of the table whose own driver is not newer than `driver`.

    This is what nvidia-smi prints as "CUDA Version": the driver's limit, not an installed toolkit.
    """
    version = Version.parse(driver)
    fitting = [
        row for row in table("driver_cuda").values() if Version.parse(row["driver"]) <= version
    ]
    return fitting[-1] if fitting else None


def compatibility_package(cuda: str) -> Row | None:
    """The forward-compatibility package for a CUDA release, or None when the table has none."""
    return find("forward_compatibility", cuda)

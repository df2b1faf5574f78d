"""Driver and CUDA: what a driver runs, what a CUDA release needs."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.compatibility.tables import Row, find, table
from enginewright.compatibility.version import Version


@dataclass(frozen=True)
class DriverRequirement:
    """The oldest driver for a CUDA release."""

    minimum: Version
    row: Row
    minor_compatible: bool
    """Whether the minimum rests on minor-version compatibility (CUDA 11 and later): then PTX and
    the features of newer drivers are not available on the minimum itself."""


def minimum_driver(cuda: str) -> DriverRequirement | None:
    """The oldest driver on which programs of CUDA release `cuda` (major.minor) run.

    None when the tables have no row for the release.
    """
    found = find("driver_cuda", cuda) or _newest_of_major(cuda)
    if found is None:
        return None
    compatible = found.values.get("minor_compatible_driver")
    return DriverRequirement(
        Version.parse(compatible or found["driver"]), found, compatible is not None
    )


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


def driver_that_reads_ptx(ptx: str) -> Row | None:
    """The first CUDA release whose driver reads PTX version `ptx`, as a row of the PTX table."""
    return find("ptx", ptx)


def newest_ptx(cuda: str) -> Row | None:
    """The newest PTX version that ptxas and the driver of CUDA release `cuda` read."""
    release = Version.parse(cuda)
    fitting = [row for row in table("ptx").values() if Version.parse(row["cuda"]) <= release]
    return fitting[-1] if fitting else None

"""Driver and CUDA: what a driver runs, what a CUDA release needs."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.compatibility.tables import HOW_TO_ADD, Row, find, row, table
from enginewright.compatibility.version import Version, try_version
from enginewright.errors import Problem


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
    found = find("driver_cuda", cuda) or _nearest_of_major(cuda)
    if found is None:
        return None
    minimum = found.values.get("minor_compatible_driver", found["driver"])
    return DriverRequirement(Version.parse(minimum), found)


def release_row(cuda: str) -> Row:
    """The row of a CUDA release; for one that has none, what the rule of its major says.

    Raises `InputError` where neither is known.
    """
    found = find("driver_cuda", cuda)
    requirement = minimum_driver(cuda) if found is None and try_version(cuda) else None
    if requirement is None:
        return found or row("driver_cuda", cuda)
    values = {
        "minor_compatible_driver": str(requirement.minimum),
        "by_rule": f"the table has no row for {cuda}; every release of a major version runs on the "
        "oldest driver of that major, PTX apart",
    }
    return Row("driver_cuda", cuda, values, requirement.row.source)


def _nearest_of_major(cuda: str) -> Row | None:
    """The row below a release that has none, of a major whose releases share one driver."""
    version = Version.parse(cuda)
    rows = [
        below
        for key, below in table("driver_cuda").items()
        if Version.parse(key).major == version.major
        and Version.parse(key) <= version
        and "minor_compatible_driver" in below.values
    ]
    return rows[-1] if rows else None


def driver_problem(driver: str, cuda: str) -> Problem | None:
    """Why the driver does not run programs of CUDA release `cuda`, or None when it does.

    From CUDA 11 on a driver runs every release of its major version (minor-version compatibility;
    PTX needs the driver of its own release: `ptx_problem_on_driver`). A release of a major that the
    table does not have is a problem too: nobody knows the driver that it needs.
    """
    requirement = minimum_driver(cuda)
    newest = newest_cuda(driver)
    if requirement is None:
        return Problem(
            f"the table of drivers has no row for CUDA {cuda}, nor for a release of its major "
            "version that would stand for it",
            "table driver_cuda",
            "one of " + ", ".join(table("driver_cuda")),
            f"CUDA {cuda}, driver {driver}",
            HOW_TO_ADD,
        )
    if Version.parse(driver) >= requirement.minimum:
        return None
    limit = f"it runs CUDA up to {newest.key}" if newest else "it is older than the table"
    return Problem(
        f"driver {driver} is older than {requirement.minimum}, which CUDA {cuda} needs "
        f"({requirement.row.name}); {limit}",
        requirement.row.name,
        f"{requirement.minimum} or newer",
        driver,
        f"upgrade the driver to {requirement.minimum} or newer",
    )


def newest_cuda(driver: str) -> Row | None:
    """The newest CUDA release of the table whose own driver is not newer than `driver`.

    This is what nvidia-smi prints as "CUDA Version": the driver's limit, not an installed toolkit.
    """
    version = Version.parse(driver)
    fitting = [
        one for one in table("driver_cuda").values() if Version.parse(one["driver"]) <= version
    ]
    return fitting[-1] if fitting else None


def compatibility_package(cuda: str) -> Row | None:
    """The forward-compatibility package for a CUDA release, or None when the table has none."""
    return find("forward_compatibility", cuda)

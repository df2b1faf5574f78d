"""What a request resolves to: a pure function, which refuses what the tables exclude."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from enginewright.compatibility.driver import DriverRequirement, minimum_driver
from enginewright.compatibility.product import (
    known_versions,
    parser_row,
    precisions_on,
    product_row,
)
from enginewright.compatibility.tables import Row, table
from enginewright.compatibility.toolkit import toolkit_problems
from enginewright.compatibility.version import Version
from enginewright.engines.registry import find_product
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.toolchains.lock_file import LockedPackage
from enginewright.toolchains.request import LockRequest
from enginewright.toolchains.toolchain import OnnxLimits, Toolchain


@dataclass(frozen=True)
class LockFacts:
    """What the lock file and the wheels say."""

    locked: Mapping[str, LockedPackage]
    """By name, for the environment that the builder runs in."""
    libraries: Mapping[str, str]
    """File name -> sha256."""


@dataclass(frozen=True)
class ResolvedToolchain:
    toolchain: Toolchain
    sources: tuple[str, ...]
    """The row of each computed value."""

    def text(self) -> str:
        return self.toolchain.text(self.sources)


def resolve(request: LockRequest, facts: LockFacts) -> ResolvedToolchain:
    """The toolchain for a request; raises `InputError` naming the row of each exclusion."""
    version = _version(request, facts)
    row = product_row(request.product, version)
    if row is None:
        raise InputError(
            Problem(
                f"unknown version of {request.product}: no row of the product table",
                "table product",
                "one of " + ", ".join(known_versions(request.product)),
                version,
                "lock a version that the table has, or add a row with its source",
            )
        )
    problems = [
        *_target_problems(request, row, version),
        *_cuda_problems(request, row),
        *_toolkit_problems(request),
        *_device_problems(request, row),
    ]
    if not facts.libraries:
        fix = "name the product's wheels, or the folder where they are installed"
        problems.append(Problem("no library hashes", request.product, "at least one", "none", fix))
    requirement = minimum_driver(request.cuda)
    reader = parser_row(request.product, version)
    if reader is None:
        known = ", ".join(
            f"`{key}`" for key in table("onnx_reader") if key.startswith(f"{request.product} ")
        )
        problems.append(
            Problem(
                "no row for the product's ONNX parser",
                "table onnx_reader",
                known,
                f"{request.product} {version}",
                "lock a version that the table has, or add a row with its source",
            )
        )
    raise_if_any(problems)
    assert requirement is not None
    assert reader is not None
    return _toolchain(request, facts, version, row, requirement, reader)


def _toolchain(
    request: LockRequest,
    facts: LockFacts,
    version: str,
    row: Row,
    requirement: DriverRequirement,
    reader: Row,
) -> ResolvedToolchain:
    toolchain = Toolchain(
        product=request.product,
        version=version,
        cuda=request.cuda,
        environment=request.environment,
        minimum_driver=str(requirement.minimum),
        compute_capabilities=tuple(sorted(set(request.compute_capabilities))),
        onnx=OnnxLimits(reader["opset_min"], reader["opset_max"], reader["ir_max"]),
        libraries=facts.libraries,
        device=request.device if row["gpu_bound"] else None,
    )
    return ResolvedToolchain(
        toolchain,
        (
            f"minimum_driver: {requirement.row.name}",
            f"compute_capabilities: {row.name}",
            f"onnx: {reader.name}",
        ),
    )


def _version(request: LockRequest, facts: LockFacts) -> str:
    """The version of the lock file; a version of the request must be the same."""
    locked = facts.locked
    major = Version.parse(request.cuda).major
    names = [name.format(major=major) for name in find_product(request.product).wheels]
    versions = [locked[name].version for name in names if name in locked]
    if not versions:
        raise InputError(
            Problem(
                f"the lock file does not have {request.product} for CUDA {major}",
                request.environment,
                "one of " + ", ".join(names),
                ", ".join(sorted(locked)[:20]) or "no packages",
                "lock the product in that environment",
            )
        )
    if len(set(versions)) > 1 or (request.version and request.version != versions[0]):
        raise InputError(
            Problem(
                "the versions do not agree in all four fields",
                request.environment,
                f"{request.product} {request.version or versions[0]} everywhere",
                ", ".join(f"{name} {locked[name].version}" for name in names if name in locked),
                "lock one version: bindings and libraries of another build load a second product",
            )
        )
    return versions[0]


def _target_problems(request: LockRequest, row: Row, version: str) -> list[Problem]:
    problems = []
    able = ", ".join(row["precisions"])
    for capability in sorted(set(request.compute_capabilities)):
        precisions = precisions_on(row, capability)
        if precisions is None:
            problems.append(
                Problem(
                    f"{request.product} {version} does not run on compute capability {capability}",
                    row.name,
                    f"one of {able}",
                    str(capability),
                    "leave the target out, or choose another product for it",
                )
            )
            continue
        problems += [
            Problem(
                f"{request.product} {version} has no {precision} on compute capability "
                f"{capability}",
                row.name,
                f"one of {', '.join(precisions)}",
                precision,
                "choose another precision, or make a second toolchain for the other targets",
            )
            for precision in sorted(set(request.precisions))
            if precision not in precisions
        ]
    return problems


def _cuda_problems(request: LockRequest, row: Row) -> list[Problem]:
    problems = []
    majors = row.values.get("cuda_majors")
    major = Version.parse(request.cuda).major
    if majors and major not in majors:
        side = "newer" if major > max(majors) else "older"
        problems.append(
            Problem(
                f"CUDA {request.cuda} is {side} than what {row.key} is made for",
                row.name,
                "CUDA " + " or ".join(str(item) for item in majors),
                request.cuda,
                "lock the product's build for that CUDA major",
            )
        )
    requirement = minimum_driver(request.cuda)
    if requirement is None:
        problems.append(
            Problem(
                f"no minimum driver is known for CUDA {request.cuda}",
                "table driver_cuda",
                "one of " + ", ".join(table("driver_cuda")),
                request.cuda,
                "choose a release of the table, or add its row with the source",
            )
        )
    elif request.driver and Version.parse(request.driver) < requirement.minimum:
        problems.append(
            Problem(
                f"driver {request.driver} is older than what CUDA {request.cuda} needs",
                requirement.row.name,
                f"{requirement.minimum} or newer",
                request.driver,
                "raise the oldest driver, or lock an older CUDA release",
            )
        )
    return problems


def _toolkit_problems(request: LockRequest) -> list[Problem]:
    if not request.toolkit:
        return []
    try:
        return toolkit_problems(
            request.toolkit,
            request.compute_capabilities,
            gcc=request.gcc,
        )
    except InputError as error:
        return list(error.problems)


def _device_problems(request: LockRequest, row: Row) -> list[Problem]:
    device = request.device
    if not row["gpu_bound"]:
        return []
    if device is None:
        return [
            Problem(
                f"{request.product} tunes on the GPU that it builds on, and no GPU is named",
                row.name,
                "`[device]`: name, compute_capability and driver",
                "none",
                "write it into the request; `enginewright lock-toolchain --from-host` prints it on "
                "the build host",
            )
        ]
    problems = []
    if device.compute_capability not in request.compute_capabilities:
        problems.append(
            Problem(
                f"{request.product} builds for the GPU that it builds on, and that is no target",
                "device.compute_capability",
                ", ".join(map(str, request.compute_capabilities)),
                str(device.compute_capability),
                "make one toolchain for each kind of GPU",
            )
        )
    requirement = minimum_driver(request.cuda)
    if requirement and Version.parse(device.driver) < requirement.minimum:
        problems.append(
            Problem(
                f"the driver of {device.name} is older than what CUDA {request.cuda} needs",
                requirement.row.name,
                f"{requirement.minimum} or newer",
                device.driver,
                "upgrade the driver of the build host",
            )
        )
    return problems

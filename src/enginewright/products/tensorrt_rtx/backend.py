"""Open a package of TensorRT for RTX, after a look whether this host can run it."""

from __future__ import annotations

from enginewright.document import decode
from enginewright.engines.backend import Backend
from enginewright.engines.package import EnginePackage
from enginewright.errors import InputError, Problem
from enginewright.products.tensorrt.built_plan import PLAN_NAME
from enginewright.products.tensorrt.plan import PlanTable
from enginewright.products.tensorrt_rtx.cuda_device import check_device, find_device


def open_backend(package: EnginePackage, threads: int) -> Backend:  # noqa: ARG001
    """Raises `InputError` before the plan is read when this host cannot run it."""
    table = decode(PlanTable, package.manifest.own, f"{package.folder}, engine.json, own")
    plan = package.folder / PLAN_NAME
    try:
        check_device(find_device(), table.built.compute_capabilities, plan)
        # Here, because its packages may be missing, which is worth a message of its own.
        from enginewright.products.tensorrt_rtx.plan_runner import TensorRtRtxBackend
    except ModuleNotFoundError as error:
        raise InputError(
            Problem(
                "a Python package that runs TensorRT for RTX plans is missing",
                str(plan),
                "tensorrt-rtx-cu13-bindings, tensorrt-rtx-cu13-libs, cuda-bindings, ml-dtypes",
                f"no module `{error.name}`",
            )
        ) from error
    return TensorRtRtxBackend(plan, package.tensors)

"""TensorRT for RTX, as the library knows it. Its engines were built here and never run."""

from __future__ import annotations

from enginewright.engines.product import Product
from enginewright.products.tensorrt.plan import PlanTable
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX

PRODUCT = Product(
    name=TENSORRT_RTX.name,
    title="TensorRT for RTX",
    wheels=(
        "tensorrt-rtx-cu{major}-libs",
        "tensorrt-rtx-cu{major}-bindings",
        "tensorrt-rtx-cu{major}",
        "tensorrt-rtx",
    ),
    library_prefixes=TENSORRT_RTX.library_prefixes,
    loads_where="all four fields",
    device="compute-capability",
    own=PlanTable,
    backend="enginewright.products.tensorrt_rtx.backend:open_backend",
    findings="enginewright.products.tensorrt.findings:package_findings",
)

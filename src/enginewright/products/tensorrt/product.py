"""TensorRT, whose packages the doctor and the toolchains know. Nothing here builds or runs them."""

from __future__ import annotations

from enginewright.engines.product import Product
from enginewright.products.tensorrt.plan import PlanTable

PRODUCT = Product(
    name="tensorrt",
    title="TensorRT",
    wheels=(
        "tensorrt-cu{major}-libs",
        "tensorrt-cu{major}-bindings",
        "tensorrt-cu{major}",
        "tensorrt",
    ),
    library_prefixes=("libnvinfer", "libnvonnxparser", "libcudart", "tensorrt"),
    loads_where="all four fields",
    device="tuned",
    own=PlanTable,
    findings="enginewright.products.tensorrt.findings:package_findings",
)

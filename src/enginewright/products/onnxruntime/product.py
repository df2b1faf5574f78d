"""ONNX Runtime, as the library knows it."""

from __future__ import annotations

from enginewright.engines.product import Product
from enginewright.products.onnxruntime.table import OnnxRuntimeTable

PRODUCT = Product(
    name="onnxruntime",
    title="ONNX Runtime",
    wheels=("onnxruntime",),
    library_prefixes=("libonnxruntime", "onnxruntime_pybind11_state"),
    # Its files say which operator sets they need, and a later release reads them.
    loads_where="any",
    device="none",
    own=OnnxRuntimeTable,
    backend="enginewright.products.onnxruntime.backend:open_backend",
)

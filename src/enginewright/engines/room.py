"""Parts of a product's room, by their names: nothing that uses this imports a product."""

from __future__ import annotations

import importlib
from typing import Any

from enginewright.engines.product import Product


def product_of(room: str) -> Product:
    """`room` is the dotted name of the package, such as `enginewright.products.onnxruntime`."""
    product: Product = importlib.import_module(f"{room}.product").PRODUCT
    return product


def load(entry: str) -> Any:
    """What `module:attribute` names."""
    module, _, attribute = entry.partition(":")
    return getattr(importlib.import_module(module), attribute)

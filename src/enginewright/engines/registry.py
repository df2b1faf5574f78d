"""The products that are known.

A product is a folder and one line of `ROOMS`. The folder has `product.py` (`PRODUCT`), `build.py`
and `describe.py` (its steps), `backend.py` where something here runs its engines, and what
`PRODUCT` names. No step of a build imports this module: its sandbox holds the room that it needs,
and no other (`room`).
"""

from __future__ import annotations

from enginewright.engines.manifest import OwnTable
from enginewright.engines.product import Product
from enginewright.engines.room import product_of
from enginewright.errors import InputError, Problem

ROOMS = (
    "enginewright.products.aotinductor",
    "enginewright.products.onnxruntime",
    "enginewright.products.tensorrt",
    "enginewright.products.tensorrt_rtx",
)
"""The BUILD file of this folder names them too: nothing here is imported by a statement."""


def products() -> dict[str, Product]:
    """All products by name."""
    found = map(product_of, ROOMS)
    return {product.name: product for product in found}


def find_product(name: str, where: str = "") -> Product:
    """Raises `InputError` for a name that no product has; `where` is the place that says it."""
    known = products()
    if name not in known:
        expected = "one of " + ", ".join(sorted(known))
        raise InputError(Problem("unknown product", where, expected, repr(name)[:80]))
    return known[name]


def find_own(name: str) -> type[OwnTable]:
    """As `manifest.FindOwn`."""
    return find_product(name).own

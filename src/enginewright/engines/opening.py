"""Open a packaged engine with the product that runs it."""

from __future__ import annotations

from enginewright.engines.backend import Backend
from enginewright.engines.manifest import NAME
from enginewright.engines.package import EnginePackage
from enginewright.engines.registry import find_product, products
from enginewright.engines.room import load
from enginewright.errors import InputError, Problem


def open_backend(package: EnginePackage, threads: int = 0) -> Backend:
    """Raises `InputError` when this host cannot run the engine, before it is loaded.

    `threads` 0 leaves their number to the product.
    """
    where = f"{package.folder / NAME}, product.name"
    product = find_product(package.manifest.product.name, where)
    if product.backend is None:
        able = [other.name for other in products().values() if other.backend is not None]
        what = f"nothing here runs engines of {product.title}"
        raise InputError(Problem(what, where, "one of " + ", ".join(sorted(able)), product.name))
    backend: Backend = load(product.backend)(package, threads)
    return backend

"""torch AOTInductor, as the library knows it."""

from __future__ import annotations

from enginewright.engines.product import Product
from enginewright.products.aotinductor.table import AotInductorTable

PRODUCT = Product(
    name="aotinductor",
    title="torch AOTInductor",
    wheels=("torch",),
    library_prefixes=("libtorch", "libc10"),
    # Compiled code calls torch through a stable C interface; only 2.11.0 was tried.
    loads_where="same release",
    device="compute-capability",
    own=AotInductorTable,
    backend="enginewright.products.aotinductor.backend:open_backend",
)

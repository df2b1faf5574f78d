"""Inference products: which compute capabilities and precisions each version supports."""

from __future__ import annotations

from enginewright.compatibility.tables import Row, find, table
from enginewright.compatibility.version import ComputeCapability

PRECISIONS = ("fp32", "fp16", "bf16", "int8", "int4", "fp8", "fp4")


def product_row(product: str, version: str) -> Row | None:
    """The row of this exact version, else the one of its release (major.minor), else None."""
    return _of_release("product", product, version)


def parser_row(product: str, version: str) -> Row | None:
    """What the product's ONNX parser reads, found likewise."""
    return _of_release("onnx_reader", product, version)


def _of_release(name: str, product: str, version: str) -> Row | None:
    release = ".".join(version.split(".")[:2])
    return find(name, f"{product} {version}") or find(name, f"{product} {release}")


def known_versions(product: str) -> list[str]:
    return [key.split(" ", 1)[1] for key in table("product") if key.split(" ", 1)[0] == product]


def known_products() -> list[str]:
    return sorted({key.split(" ", 1)[0] for key in table("product")})


def precisions_on(found: Row, capability: ComputeCapability) -> list[str] | None:
    """Precisions of a product row on a GPU; None when the product does not run there at all."""
    precisions: dict[str, list[str]] = found["precisions"]
    return precisions.get(str(capability.base))

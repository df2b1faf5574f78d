"""The README of an engine package: what it is, where it runs, how to load it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from enginewright.engines.manifest import Manifest
from enginewright.engines.product import Product
from enginewright.engines.tensor import EngineTensor


@dataclass(frozen=True)
class ReadmePart:
    """What a product has to say."""

    facts: tuple[str, ...]
    """Points of the list at the top."""
    sections: tuple[str, ...]
    """Markdown with its headings, after the tensors."""


def render(manifest: Manifest, product: Product, part: ReadmePart) -> str:
    """Markdown; the same arguments give the same text."""
    made = f"{product.title} {manifest.product.version} ({product.version_rule})"
    facts = (
        *part.facts,
        *(_file(manifest, name) for name in manifest.built),
        *_limits(manifest),
        "`engine.json`: inputs of the build with their hashes, tensors, limits, options.",
        "`bom.cdx.json` and `provenance.json`, where the package has them: what the engine was "
        "made of (CycloneDX), and how (in-toto, SLSA).",
        f"Reproducibility: {manifest.reproducibility}.",
    )
    sections = (
        f"# {manifest.name}\n\nAn inference engine for {made}, task `{manifest.task}`.\n\n"
        + "".join(f"- {fact}\n" for fact in facts),
        "## Tensors\n\n| name | mode | dtype | shape |\n|---|---|---|---|\n"
        + "".join(map(_row, manifest.tensors)),
        *part.sections,
    )
    return "\n".join(sections)


def _file(manifest: Manifest, name: str) -> str:
    digest = manifest.files[name]
    return f"`{name}`: {digest.size} bytes, sha256 `{digest.sha256}`."


def _limits(manifest: Manifest) -> Iterator[str]:
    sizes = (
        (manifest.limits.batch, "rows"),
        (manifest.limits.sequence, "tokens of a call"),
        (manifest.limits.total_sequence, "tokens of a row in all"),
    )
    known = [f"{size} {of_what}" for size, of_what in sizes if size is not None]
    if known:
        yield f"At most {', '.join(known)}."


def _row(tensor: EngineTensor) -> str:
    shape = ", ".join(map(str, tensor.shape))
    return f"| `{tensor.name}` | {tensor.mode} | {tensor.dtype} | [{shape}] |\n"

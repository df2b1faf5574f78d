"""What an engine needs beside it to run: plugins and kernels."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.engines.manifest import NAME, Manifest
from enginewright.errors import Problem


@dataclass(frozen=True)
class Component:
    kind: str
    """`plugin` or `kernel`."""
    name: str
    path: str
    """File in the package; empty where none is named."""
    embedded: bool
    """Whether it is inside the engine, and needs no file."""


def components_of(manifest: Manifest) -> tuple[Component, ...]:
    """Plugins, then kernels."""
    components = []
    for kind, entries in (("plugin", manifest.plugins), ("kernel", manifest.kernels)):
        for entry in entries:
            path = _text(entry.get("path"))
            name = _text(entry.get("name")) or path
            components.append(Component(kind, name, path, entry.get("embedded") is True))
    return tuple(components)


def missing_components(manifest: Manifest) -> list[Problem]:
    """One problem for each that names a file which the package does not have."""
    listed = "one of " + ", ".join(sorted(manifest.files))
    return [
        Problem(
            f"{component.kind} `{component.name}` needs a file that is not in the package",
            f"{NAME}, {component.kind}s",
            listed[:400],
            component.path,
        )
        for component in components_of(manifest)
        if component.path and component.path not in manifest.files
    ]


def _text(value: object) -> str:
    return value[:300] if isinstance(value, str) else ""

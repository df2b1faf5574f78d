"""Loads a packaged engine, for those who run it."""

from __future__ import annotations

from enginewright.engines.opening import open_backend
from enginewright.engines.package import EnginePackage
from enginewright.run.opened import OpenedEngine
from enginewright.tasks.interface import interface_of


def open_engine(package: EnginePackage, threads: int = 0) -> OpenedEngine:
    """Raises `InputError` for a file that is not the manifest's, and where this host cannot run it.

    `threads` 0 leaves their number to the product.
    """
    package.verify()
    files = {
        path.relative_to(package.folder).as_posix(): path
        for path in sorted(package.folder.rglob("*"))
        if path.is_file()
    }
    generation = package.manifest.generation
    stop = generation.stop if generation is not None else ()
    return OpenedEngine(interface_of(package), open_backend(package, threads), files, stop=stop)

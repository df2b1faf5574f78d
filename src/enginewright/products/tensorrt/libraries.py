"""The shared libraries that a product really loaded, against those that the toolchain lists."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

from enginewright.errors import Problem
from enginewright.hashing import FileDigest
from enginewright.products.tensorrt.variant import Variant

_MAPS = Path("/proc/self/maps")
_FIX = "install the locked wheels, or list what is installed now in a new toolchain"


def mapped_paths(maps: str) -> tuple[Path, ...]:
    """Shared libraries in the text of a Linux `/proc/PID/maps` file, sorted."""
    fields = (line.split(maxsplit=5) for line in maps.splitlines())
    names = {entry[5] for entry in fields if len(entry) == 6 and entry[5].startswith("/")}
    return tuple(Path(name) for name in sorted(names) if ".so" in Path(name).name)


def product_paths(product: Variant) -> dict[str, Path]:
    """File name -> path of each library of `product` that this process has mapped now."""
    paths = mapped_paths(_MAPS.read_text(encoding="utf-8"))
    return {path.name: path for path in paths if path.name.startswith(product.library_prefixes)}


def list_libraries(product: Variant, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """File name -> sha256 of each mapped library of `product`: the table of a toolchain file.

    Names in `known` keep the hash that they have there.
    """
    hashes = dict(known or {})
    for name, path in product_paths(product).items():
        if name not in hashes:
            hashes[name] = FileDigest.of(path).sha256
    return dict(sorted(hashes.items()))


def compare(expected: Mapping[str, str], actual: Mapping[str, str]) -> list[Problem]:
    """One problem for each library that is missing, unlisted or has other bytes."""
    problems = []
    for name in sorted({*expected, *actual}):
        if name not in actual:
            what = "the toolchain lists a library that was not loaded"
            loaded = ", ".join(sorted(actual)) or "no library of the product"
            problems.append(Problem(what, name, f"sha256 {expected[name]}", loaded, _FIX))
        elif name not in expected:
            what = "a library was loaded that the toolchain does not list"
            listed = ", ".join(sorted(expected)) or "none"
            problems.append(Problem(what, name, listed, f"sha256 {actual[name]}", _FIX))
        elif expected[name] != actual[name]:
            what = "a loaded library differs from the one in the toolchain"
            problems.append(
                Problem(what, name, f"sha256 {expected[name]}", f"sha256 {actual[name]}", _FIX)
            )
    return problems


def compare_before_build(expected: Mapping[str, str], loaded: Mapping[str, str]) -> list[Problem]:
    """What is wrong now already, when libraries of `expected` may yet be loaded by the build.

    Those that are missing so far are listed only beside others that are wrong.
    """
    known = {name: sha256 for name, sha256 in expected.items() if name in loaded}
    return compare(expected, loaded) if compare(known, loaded) else []


def loaded_version(product: Variant) -> str:
    """All four fields of the version that the mapped core library reports about itself."""
    paths = [p for n, p in product_paths(product).items() if n.startswith(product.core_library)]
    library = ctypes.CDLL(str(paths[0]))
    fields = ("Major", "Minor", "Patch", "Build")
    return ".".join(str(getattr(library, f"getInferLib{field}Version")()) for field in fields)

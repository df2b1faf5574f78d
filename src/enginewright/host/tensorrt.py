"""TensorRT libraries that are present, with as many of the four version fields as can be known.

A shared library's file name has three fields; the fourth, which decides whether a plan loads, is in
the Python distribution's name or in the header of the development package.
"""

from __future__ import annotations

import re

from enginewright.host.fact import known, unknown
from enginewright.host.model import Library, TensorRt
from enginewright.host.sources import Source, UnavailableError, read_text

_DISTRIBUTION = re.compile(
    r"(tensorrt(?:_rtx)?)(?:_cu\d+)?(?:_libs)?-(\d+(?:\.\d+){1,3})(?:\.post\d+)?\.dist-info",
    re.ASCII,
)
_HEADERS = (
    "/usr/include/x86_64-linux-gnu/NvInferVersion.h",
    "/usr/include/aarch64-linux-gnu/NvInferVersion.h",
    "/usr/include/NvInferVersion.h",
    "/usr/local/include/NvInferVersion.h",
    "/usr/local/tensorrt/include/NvInferVersion.h",
)
_FIELD = re.compile(
    r"#define\s+(?:NV_|TRT_)\w*?(MAJOR|MINOR|PATCH|BUILD)\w*\s+(\d{1,9})\b", re.ASCII
)
_PRODUCT_OF_LIBRARY = {"libnvinfer": "tensorrt", "libtensorrt_rtx": "tensorrt-rtx"}


def installed(source: Source, libraries: tuple[Library, ...]) -> tuple[TensorRt, ...]:
    """Every TensorRT found, by Python distribution, header and shared library; sorted."""
    found: set[TensorRt] = set()
    for folder in source.python_paths():
        try:
            names = source.list_directory(folder)
        except UnavailableError:
            continue
        for name in names:
            match = _DISTRIBUTION.fullmatch(name)
            if match:
                product = match[1].replace("_", "-")
                found.add(TensorRt(product, known(match[2]), f"Python distribution in {folder}"))
    for path in _HEADERS:
        try:
            version = header_version(read_text(source, path))
        except UnavailableError:
            continue
        if version:
            found.add(TensorRt("tensorrt", known(version), path))
    for library in libraries:
        product_of = _PRODUCT_OF_LIBRARY.get(library.soname.split(".so")[0])
        if product_of:
            version_fact = library.version
            if version_fact.value is not None and "." not in version_fact.value:
                version_fact = unknown("the library's file name has its major version only")
            found.add(TensorRt(product_of, version_fact, library.path))
    return tuple(sorted(found, key=lambda item: (item.product, item.where, str(item.version))))


def header_version(text: str) -> str | None:
    """`10.13.3.9` from the text of `NvInferVersion.h`, or None when a field is missing."""
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, value)
    order = ("MAJOR", "MINOR", "PATCH", "BUILD")
    return ".".join(fields[name] for name in order) if all(n in fields for n in order) else None

"""What a user asks for: product, CUDA release, targets. Everything else is looked up."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright.compatibility.product import PRECISIONS, known_products
from enginewright.compatibility.version import ComputeCapability, Version, try_version
from enginewright.errors import InputError, Problem, raise_if_any

FIELDS = {
    "product": "text, such as tensorrt-rtx",
    "version": "text with four numbers; left out, the lock file decides",
    "cuda": 'text, such as "13.0"',
    "compute_capabilities": 'list of texts, such as ["8.9", "12.0"]',
    "environment": "text, the tool environment with the product",
    "precisions": "list of " + ", ".join(PRECISIONS),
    "driver": "text, the oldest driver that must do",
    "toolkit": "text, the CUDA toolkit that compiles kernels",
    "gcc": "text, the host compiler of the toolkit",
}
"""Fields of a request and their form."""
_LISTS = ("compute_capabilities", "precisions")
_REQUIRED = ("product", "cuda", "compute_capabilities", "environment")


@dataclass(frozen=True)
class LockRequest:
    product: str
    cuda: str
    """Major and minor version."""
    compute_capabilities: tuple[ComputeCapability, ...]
    """Sorted, each once."""
    environment: str
    version: str = ""
    precisions: tuple[str, ...] = ()
    driver: str = ""
    toolkit: str = ""
    gcc: str = ""


def read_request(path: Path) -> LockRequest:
    """Read a request from a TOML file; raise `InputError` with all problems."""
    return parse_request(read_toml(path), str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """The document of a TOML file; raise `InputError` when it is not one."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            Problem("cannot read the file", str(path), actual=error.strerror or "")
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(Problem("not a TOML file", str(path), actual=str(error)[:200])) from error


def parse_request(document: Mapping[str, Any], where: str) -> LockRequest:
    """Check a request's document; `where` names it in messages."""
    problems = []
    for name, value in document.items():
        if name not in FIELDS:
            problems.append(
                Problem(f"unknown field `{name[:60]}`", where, "one of " + ", ".join(FIELDS))
            )
        elif not _has_form(name, value):
            problems.append(
                Problem(f"field `{name}` has the wrong form", where, FIELDS[name], repr(value)[:80])
            )
    problems += [
        Problem(f"field `{name}` is missing", where, FIELDS[name])
        for name in _REQUIRED
        if name not in document
    ]
    raise_if_any(problems)
    problems = _value_problems(document, where)
    targets = []
    for text in document["compute_capabilities"]:
        try:
            targets.append(ComputeCapability.parse(text))
        except InputError as error:
            problems += [
                Problem(p.what, f"{where}, compute_capabilities", p.expected, p.actual)
                for p in error.problems
            ]
    raise_if_any(problems)
    return LockRequest(
        product=document["product"],
        cuda=document["cuda"],
        compute_capabilities=tuple(sorted(set(targets))),
        environment=document["environment"],
        version=document.get("version", ""),
        precisions=tuple(sorted(set(document.get("precisions", ())))),
        driver=document.get("driver", ""),
        toolkit=document.get("toolkit", ""),
        gcc=document.get("gcc", ""),
    )


def _has_form(name: str, value: object) -> bool:
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, str)


def _value_problems(document: Mapping[str, Any], where: str) -> list[Problem]:
    problems = []
    if document["product"] not in known_products():
        problems.append(
            Problem(
                "unknown product",
                f"{where}, product",
                "one of " + ", ".join(known_products()),
                document["product"][:60],
            )
        )
    for name in ("cuda", "toolkit"):
        text = document.get(name)
        if text is not None and (not try_version(text) or len(Version.parse(text).fields) != 2):
            problems.append(
                Problem(f"`{name}` is not a release", f"{where}, {name}", "13.0", text[:60])
            )
    for name in ("version", "driver", "gcc"):
        text = document.get(name)
        if text and not try_version(text):
            problems.append(
                Problem(f"`{name}` is not a version", f"{where}, {name}", "numbers with dots", text)
            )
    if not document["compute_capabilities"]:
        problems.append(Problem("no target", f"{where}, compute_capabilities", "at least one"))
    problems += [
        Problem(
            "unknown precision",
            f"{where}, precisions",
            "one of " + ", ".join(PRECISIONS),
            item[:60],
        )
        for item in document.get("precisions", ())
        if item not in PRECISIONS
    ]
    return problems

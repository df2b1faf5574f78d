"""Wheels: their own requirements against the lock, and the shared libraries in them."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.toolchains.lock_file import LockedPackage
from enginewright.toolchains.markers import holds
from enginewright.toolchains.wheel_metadata import ZIP_ERRORS

_SHARED_LIBRARY = re.compile(r".+\.so(?:\.\d+)*", re.ASCII)
MAX_LIBRARY = 8 << 30
"""Bytes of one unpacked library; more is a zip bomb."""
MAX_LIBRARIES = 256


def uncovered_requirements(
    metadata: str, locked: Mapping[str, LockedPackage], environment: Mapping[str, str]
) -> Iterator[Problem]:
    """What a wheel's METADATA requires in an environment and the lock does not have.

    Wheels of one version can require different things on different platforms; a resolver that read
    another platform's wheel leaves packages out.
    """
    headers = HeaderParser().parsestr(metadata)
    name = headers.get("Name", "the wheel")
    where = f"{name}, Requires-Dist"
    own = locked.get(canonicalize_name(name))
    for text in headers.get_all("Requires-Dist", []):
        try:
            required = Requirement(text)
        except (InvalidRequirement, RecursionError):
            yield Problem("requirement cannot be read", where, actual=text[:100])
            continue
        if not holds(required.marker, environment, own.extras if own else ()):
            continue
        found = locked.get(canonicalize_name(required.name))
        if found is None:
            yield Problem(
                f"the lock lacks `{canonicalize_name(required.name)}`, "
                f"which the wheel of {name} requires",
                where,
                text.strip()[:120],
                "not in the lock",
                "resolve the lock on the platform that it is for",
            )
        elif not required.specifier.contains(found.version, prereleases=True):
            yield Problem(
                f"the lock has another `{found.name}` than the wheel of {name} requires",
                where,
                text.strip()[:120],
                found.version,
                "resolve the lock on the platform that it is for",
            )


def libraries_in(path: Path, prefixes: tuple[str, ...]) -> dict[str, str]:
    """File name -> sha256 of the shared libraries in a wheel, a folder, or a file.

    Of those whose names begin with one of `prefixes`; a file that is named itself is taken. Raises
    `InputError` for a path that is none of these, and for a damaged or hostile wheel.
    """
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        libraries = [file for file in files if _is_library(file.name, prefixes)]
        return {file.name: FileDigest.of(file).sha256 for file in libraries}
    if path.suffix == ".whl":
        return _libraries_in_wheel(path, prefixes)
    if path.is_file() and _SHARED_LIBRARY.fullmatch(path.name):
        return {path.name: FileDigest.of(path).sha256}
    raise InputError(
        Problem("no libraries here", str(path), "a wheel, a folder or a shared library")
    )


def _is_library(path: str, prefixes: tuple[str, ...]) -> bool:
    name = path.rsplit("/", 1)[-1]
    return bool(_SHARED_LIBRARY.fullmatch(name)) and name.startswith(prefixes)


def _libraries_in_wheel(path: Path, prefixes: tuple[str, ...]) -> dict[str, str]:
    libraries = {}
    try:
        with zipfile.ZipFile(path) as wheel:
            entries = [e for e in wheel.infolist() if _is_library(e.filename, prefixes)]
            if len(entries) > MAX_LIBRARIES:
                raise InputError(Problem("too many libraries", str(path), str(MAX_LIBRARIES)))
            for entry in entries:
                digest, size = hashlib.sha256(), 0
                with wheel.open(entry) as stream:
                    while block := stream.read(1 << 20):
                        size += len(block)
                        if size > MAX_LIBRARY:
                            raise InputError(Problem("unpacks to too much", str(path)))
                        digest.update(block)
                libraries[entry.filename.rsplit("/", 1)[-1]] = digest.hexdigest()
    except ZIP_ERRORS as error:
        raise InputError(Problem("not a wheel", str(path), actual=str(error)[:200])) from error
    return libraries


def unlocked_wheel(path: Path, locked: Mapping[str, LockedPackage]) -> Iterator[Problem]:
    """A problem when the wheel's sha256 is not one that the lock has for its package."""
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        yield Problem("not the name of a wheel", str(path), actual=str(error)[:200])
        return
    package = locked.get(name)
    if package is None:
        yield Problem("the lock does not have this package", str(path), ", ".join(sorted(locked)))
        return
    digest = FileDigest.of(path).sha256
    if digest not in package.hashes:
        yield Problem(
            "the lock has no hash for this wheel",
            str(path),
            f"{name} {package.version}, sha256 {' or '.join(package.hashes)}",
            f"{name} {version}, sha256 {digest}",
            "take the wheel that the lock names; a lock that was made for another platform, or "
            "before this wheel was published, is made again",
        )

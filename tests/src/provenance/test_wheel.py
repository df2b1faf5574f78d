"""What wheels say of themselves."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.provenance.wheel import Licence, read_wheel

HEAD = "Metadata-Version: 2.4\nName: small\nVersion: 1.0\n"
APACHE = "Classifier: License :: OSI Approved :: Apache Software License\n"


def write(folder: Path, metadata: str, *others: str) -> Path:
    path = folder / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for other in others:
            archive.writestr(other, "Name: vendored\nVersion: 9\n")
        archive.writestr("small-1.0.dist-info/METADATA", metadata)
    return path


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("License-Expression: MIT AND 0BSD\n", Licence("MIT AND 0BSD")),
        # The expression is the newer field, and says it all.
        (f"License-Expression: Apache-2.0\n{APACHE}", Licence("Apache-2.0")),
        (APACHE, Licence(None, ("Apache Software License",))),
        (f"License: MIT\n{APACHE}", Licence(None, ("Apache Software License", "MIT"))),
        ("License: UNKNOWN\n", Licence(None)),
        ("Classifier: License :: OSI Approved\n", Licence(None)),
        # The whole text of a licence is not its name.
        (f"License: {'Permission is granted ' * 20}\n", Licence(None)),
        ("License: BSD\n\n        Redistribution and use\n", Licence(None, ("BSD",))),
        ("", Licence(None)),
    ],
)
def test_licence(metadata: str, licence: Licence, tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + metadata)
    wheel = read_wheel(path, FileDigest.of(path))
    assert (wheel.name, wheel.version) == ("small", "1.0")
    assert wheel.licence == licence


def test_packages_that_a_wheel_brings_along_are_not_it(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD, "small/_vendor/other-9.dist-info/METADATA")
    assert read_wheel(path, FileDigest.of(path)).name == "small"


def test_no_wheel(tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(b"no zip")
    with pytest.raises(InputError, match="not a wheel"):
        read_wheel(path, FileDigest("a" * 64, 6))


def test_a_wheel_that_does_not_say_its_version(tmp_path: Path) -> None:
    path = write(tmp_path, "Name: small\n")
    with pytest.raises(InputError, match="Name and Version"):
        read_wheel(path, FileDigest.of(path))

"""A package that does not fit is refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pants_enginewright.steps.disk_space import DiskFullError, free_bytes, raise_if_too_large

EXBIBYTE = 1 << 60


def test_a_package_that_fits(tmp_path: Path) -> None:
    raise_if_too_large("The package a", {"a/engine.plan": 100}, str(tmp_path / "dist"))


def test_a_package_that_does_not_fit(tmp_path: Path) -> None:
    folder = str(tmp_path / "dist")
    with pytest.raises(DiskFullError) as caught:
        raise_if_too_large("The package a", {"a/engine.plan": EXBIBYTE}, folder)
    first, second, _ = str(caught.value).splitlines()
    assert first == "The package a needs 1152921504606846976 bytes: a disk is full."
    assert second.startswith(f"  packages  {folder}, ")
    assert second.endswith(" bytes free")


def test_the_space_of_the_files_that_it_replaces_counts(tmp_path: Path) -> None:
    old = tmp_path / "a" / "engine.plan"
    old.parent.mkdir()
    size = free_bytes(str(tmp_path)) + (1 << 30)
    with old.open("wb") as stream:
        stream.truncate(size)  # Takes no space.
    raise_if_too_large("The package a", {"a/engine.plan": size}, str(tmp_path))
    old.unlink()
    with pytest.raises(DiskFullError):
        raise_if_too_large("The package a", {"a/engine.plan": size}, str(tmp_path))


def test_the_space_where_a_folder_will_be(tmp_path: Path) -> None:
    assert free_bytes(str(tmp_path / "not" / "yet")) > 0

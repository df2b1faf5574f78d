"""The program that downloads wheels: what it says of an artifact that the lock does not list."""

from __future__ import annotations

import ensurepip
import hashlib
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pants_enginewright.environments.package_index import exports, index_variables
from pants_enginewright.launch import start

WHEEL = "one-1.0-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n"


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """With a folder of wheels as the only place to download from."""
    wheels = tmp_path / "offered"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / WHEEL, "w") as archive:
        archive.writestr("one-1.0.dist-info/METADATA", METADATA)
        archive.writestr("one-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("one-1.0.dist-info/RECORD", "")
    for folder in (".index", ".python"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".python" / "3.9.0").symlink_to(sys.executable)
    settings = exports(index_variables((), (str(wheels),), None))
    settings += f"export ENGINEWRIGHT_PIP={tmp_path / 'installed' / 'pip'}\n"
    (tmp_path / ".index" / "settings.sh").write_text(settings)
    (bundled,) = Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")
    with zipfile.ZipFile(bundled) as archive:
        archive.extractall(tmp_path / "installed")
    return tmp_path


def download(sandbox: Path, sha256: str) -> subprocess.CompletedProcess[str]:
    (sandbox / "lock.txt").write_text(f"one==1.0 --hash=sha256:{sha256}\n")
    script = Path(start.__file__).with_name("download.sh")
    return subprocess.run(
        ["/bin/sh", str(script), "3.9.0"],
        cwd=sandbox,
        env={"PATH": "/usr/bin:/bin", "HOME": os.fspath(sandbox)},
        capture_output=True,
        text=True,
    )


def test_a_wheel_of_the_lock_is_downloaded(sandbox: Path) -> None:
    sha256 = hashlib.sha256((sandbox / "offered" / WHEEL).read_bytes()).hexdigest()
    done = download(sandbox, sha256)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (sandbox / "wheels").iterdir()] == [WHEEL]


def test_a_wheel_that_the_lock_does_not_list_is_not_called_tampering(sandbox: Path) -> None:
    done = download(sandbox, "0" * 64)
    assert done.returncode == 1
    assert "tamper" not in done.stderr
    where = f"CPython 3.9.0 on {platform.system()} {platform.machine()}"
    assert f"The lock has no hash for the artifact that an index offers to {where}" in done.stderr
    assert f"Expected sha256 {'0' * 64}" in done.stderr
    assert "./pants generate-lockfiles --resolve=ADDRESS" in done.stderr


def test_other_errors_of_pip_stay_as_they_are(sandbox: Path) -> None:
    (sandbox / "offered" / WHEEL).unlink()
    done = download(sandbox, "0" * 64)
    assert done.returncode == 1
    assert "No matching distribution found for one==1.0" in done.stderr
    assert "The lock has no hash" not in done.stderr

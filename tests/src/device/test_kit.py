"""A device kit: made, carried and run with nothing but Python."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from step_process import run_module, write_request

STEP = b"""\
import json
from pathlib import Path

from brought import GREETING

request = json.loads(Path("request.json").read_text())
text = Path("inputs/package/engine").read_text() + Path("inputs/reference/weights").read_text()
if request["fails"]:
    raise SystemExit("it missed its bound")
Path("outputs").mkdir()
Path("outputs/report.json").write_text(json.dumps({"read": text, "greeting": GREETING}))
print("measured")
"""
ENGINE = bytes(range(65, 91)) * 100
WEIGHTS = b"0123456789" * 300


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def wheel(path: Path) -> bytes:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("brought.py"), "GREETING = 'hello'\n")
    return path.read_bytes()


def make_kit(folder: Path, *, part_bytes: int, left_out: bool = False) -> Path:
    """Two tests of one engine, the second of which fails."""
    folder.mkdir()
    brought = wheel(folder / "brought.whl")
    contents = [STEP, ENGINE, WEIGHTS, brought]
    inputs = {
        "inputs/package/engine": sha256(ENGINE),
        "inputs/reference/weights": sha256(WEIGHTS),
    }
    parameters = {
        "tests": [
            {
                "address": f"engines:{name}",
                "action": "measure",
                "module": "step",
                "request": json.dumps({"fails": name == "bad"}),
                "inputs": inputs,
            }
            for name in ("good", "bad")
        ],
        "library": {"step.py": sha256(STEP)},
        "wheels": {"brought-1.0-py3-none-any.whl": sha256(brought)},
        "locked": {"brought": "1.0", "numpy": "0.0.1"},
        "left_out": {sha256(WEIGHTS): "inputs/reference/weights"} if left_out else {},
        "sizes": {sha256(content): len(content) for content in contents},
        "part_bytes": part_bytes,
    }
    (folder / "files").mkdir()
    for content in contents:
        if not (left_out and content == WEIGHTS):
            (folder / "files" / sha256(content)).write_bytes(content)
    paths = [f"files/{path.name}" for path in sorted((folder / "files").iterdir())]
    write_request(folder, "make_device_kit", {"files": paths}, parameters)
    ran = run_module(folder, "enginewright.actions.make_device_kit")
    assert ran.code == 0, ran.errors
    return ran.outputs


def run_kit(kit: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(kit / "run.py"), *arguments]
    return subprocess.run(command, cwd=kit, capture_output=True, text=True, check=False)


def report_of(kit: Path) -> Any:
    return json.loads((kit / "report.json").read_text())


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    return make_kit(tmp_path / "made", part_bytes=1000)


def test_parts_are_at_most_as_large_as_asked_and_nothing_is_in_them_twice(kit: Path):
    sizes = [path.stat().st_size for path in sorted(kit.glob("part-*"))]
    assert max(sizes) == 1000
    packed = len(STEP) + len(ENGINE) + len(WEIGHTS)
    assert sum(sizes) == packed + (kit.parent / "brought.whl").stat().st_size


def test_a_carried_kit_runs_its_tests_and_says_of_which_bytes(kit: Path, tmp_path: Path):
    carried = shutil.copytree(kit, tmp_path / "a host" / "kit")
    done = run_kit(carried)
    assert done.returncode == 1  # of the second test
    report = report_of(carried)
    assert report["kit"] == sha256((kit / "kit.json").read_bytes())
    assert report["packages"]["brought"] == {"locked": "1.0", "here": None}
    assert report["packages"]["numpy"]["locked"] == "0.0.1"
    good, bad = report["tests"]
    assert (good["address"], good["exit_code"], good["output"]) == ("engines:good", 0, "measured\n")
    assert good["report"] == {"read": (ENGINE + WEIGHTS).decode(), "greeting": "hello"}
    assert (bad["exit_code"], bad["report"]) == (1, None)
    assert "it missed its bound" in bad["messages"]
    assert run_kit(carried, "--only", "engines:good").returncode == 0


def test_the_same_kit_is_made_of_the_same_files(kit: Path, tmp_path: Path):
    again = make_kit(tmp_path / "again", part_bytes=1000)
    names = [path.name for path in sorted(kit.iterdir())]
    assert [path.name for path in sorted(again.iterdir())] == names
    assert all((kit / name).read_bytes() == (again / name).read_bytes() for name in names)


def test_a_damaged_part_is_refused_before_anything_runs(kit: Path):
    part = kit / "part-01"
    content = bytearray(part.read_bytes())
    content[17] ^= 1
    part.write_bytes(content)
    done = run_kit(kit)
    assert done.returncode == 1
    assert "the kit is damaged" in done.stderr
    assert not (kit / "report.json").exists()


@pytest.mark.parametrize("change", ["missing", "short"])
def test_a_part_that_is_not_there_is_named(kit: Path, change: str):
    part = sorted(kit.glob("part-*"))[-1]
    if change == "missing":
        part.unlink()
    else:
        part.write_bytes(part.read_bytes()[:-1])
    done = run_kit(kit)
    assert done.returncode == {"missing": 2, "short": 1}[change]
    assert {"missing": part.name, "short": "end too early"}[change] in done.stderr


def test_a_file_that_was_left_out_is_found_by_its_content(tmp_path: Path):
    kit = make_kit(tmp_path / "made", part_bytes=60_000_000, left_out=True)
    alone = run_kit(kit)
    assert alone.returncode == 2
    assert f"inputs/reference/weights, sha256 {sha256(WEIGHTS)}" in alone.stderr
    here = tmp_path / "here"
    here.mkdir()
    (here / "other").write_bytes(WEIGHTS[::-1])
    (here / "any name").write_bytes(WEIGHTS)
    done = run_kit(kit, "--files", str(here), "--only", "engines:good")
    assert done.returncode == 0, done.stderr
    assert report_of(kit)["tests"][0]["report"]["read"].endswith("789")

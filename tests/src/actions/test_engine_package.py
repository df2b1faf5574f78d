"""The steps that describe, check and compare engines, run as steps; they need no TensorRT."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from step_process import write_request

from enginewright.actions import check_engine, compare_builds
from enginewright.engines.manifest import Manifest
from enginewright.products.tensorrt_rtx import describe
from enginewright.step import Step, run_step

PLAN = b"the bytes of a plan"
BUILD: dict[str, Any] = {
    "plan": {
        "path": "engine.plan",
        "sha256": hashlib.sha256(PLAN).hexdigest(),
        "size": len(PLAN),
    },
    "product": {"name": "tensorrt-rtx", "version": "1.7.1.116"},
    "tensors": [{"name": "x", "mode": "input", "dtype": "int64", "shape": ["n"]}],
    "profiles": [
        {
            "axes": {"n": [1, 2, 3]},
            "shapes": {"x": {"min": [1], "opt": [2], "max": [3]}},
            "values": {},
        }
    ],
    "compute_capabilities": ["8.6"],
    "weight_streaming": False,
    "options": {},
    "libraries": {},
    "warnings": [],
    "reproducibility": "bit-identical",
}


def digest(content: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


def step(folder: Path, action: Step, inputs: dict[str, list[str]], parameters: object) -> int:
    return run_step(action, write_request(folder, "x", inputs, parameters), folder / "outputs")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "build.json").write_text(json.dumps(BUILD))
    (tmp_path / "engine.plan").write_bytes(PLAN)
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    parameters = {
        "name": "tiny",
        "task": "text-generation",
        "files": {"engine.plan": digest(PLAN), "tokenizer.json": digest(b"{}")},
        "inputs": [],
        "toolchain": {
            "product": "tensorrt-rtx",
            "version": "1.7.1.116",
            "cuda": "13.0",
            "minimum_driver": "580.65.06",
        },
        "plugins": [],
        "kernels": [],
        "size_estimate": None,
    }
    assert step(tmp_path, describe.run, {"build": ["build.json"]}, parameters) == 0
    return tmp_path


CHECKED = {
    "plan": ["engine.plan"],
    "manifest": ["outputs/engine.json"],
    "package": ["tokenizer.json"],
}


def test_manifest_reads_back_and_holds_no_path(package: Path) -> None:
    manifest = Manifest.read(package / "outputs" / "engine.json")
    assert manifest.plan.sha256 == hashlib.sha256(PLAN).hexdigest()
    assert str(package) not in (package / "outputs" / "engine.json").read_text()
    assert (package / "outputs" / "README.md").read_text().startswith("# tiny\n")


def test_a_whole_package_passes(package: Path) -> None:
    assert step(package, check_engine.run, CHECKED, {}) == 0
    result = json.loads((package / "outputs" / "result.json").read_text())
    assert result["files"] == ["engine.plan", "tokenizer.json"]


def test_changed_and_missing_files_fail_together(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (package / "engine.plan").write_bytes(PLAN + b"!")
    assert step(package, check_engine.run, {**CHECKED, "package": []}, {}) == 1
    errors = capsys.readouterr().err
    assert "a file of the package is not the one in the manifest\n  where:    engine.plan" in errors
    assert "a file of the package is missing\n  where:    tokenizer.json" in errors


def test_equal_builds_pass_and_different_ones_fail(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = {"first": ["engine.plan"], "second": ["again.plan"]}
    (package / "again.plan").write_bytes(PLAN)
    assert step(package, compare_builds.run, inputs, {}) == 0
    (package / "again.plan").write_bytes(PLAN[:-1] + b"N")
    assert step(package, compare_builds.run, inputs, {}) == 1
    errors = capsys.readouterr().err
    assert f"first difference at byte {len(PLAN) - 1}" in errors
    assert hashlib.sha256(PLAN).hexdigest() in errors

"""The steps that check and compare engines, run as steps; they need no product."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from engine_document import onnx_document, plan_document
from step_process import write_request

from enginewright.actions import check_engine, compare_builds
from enginewright.step import Step, run_step

RTX, ORT = "enginewright.products.tensorrt_rtx", "enginewright.products.onnxruntime"
FILES = {"engine.plan": b"the bytes of a plan", "kernels/norm.cubin": b"code", "vocab.txt": b"a"}
MODEL = {"model.onnx": b"a graph", "model.onnx.data": b"weights"}


def digest(content: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


def step(folder: Path, action: Step, inputs: dict[str, list[str]], parameters: object) -> int:
    return run_step(action, write_request(folder, "x", inputs, parameters), folder / "outputs")


def write_package(folder: Path, files: dict[str, bytes], document: dict[str, Any]) -> Path:
    for name, content in files.items():
        path = folder / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "package" / "engine.json").write_text(json.dumps(document))
    (folder / "package" / "README.md").write_text("# It\n")
    return folder


def of_plan(folder: Path, **head: Any) -> Path:
    files = {name: digest(content) for name, content in FILES.items()}
    kernels = [{"name": "norm", "path": "kernels/norm.cubin"}]
    return write_package(folder, FILES, plan_document(files=files, kernels=kernels, **head))


def of_onnx(folder: Path) -> Path:
    files = {name: digest(content) for name, content in MODEL.items()}
    return write_package(folder, MODEL, onnx_document(files=files, built=sorted(MODEL)))


def check(folder: Path, room: str) -> int:
    paths = sorted(path for path in (folder / "package").rglob("*") if path.is_file())
    inputs = {"package": [str(path.relative_to(folder)) for path in paths]}
    return step(folder, check_engine.run, inputs, {"room": room})


def test_a_whole_package_of_a_plan_passes(tmp_path: Path) -> None:
    assert check(of_plan(tmp_path), RTX) == 0
    assert json.loads((tmp_path / "outputs" / "result.json").read_text()) == {
        "name": "qwen3_fp16",
        "built": {"engine.plan": digest(FILES["engine.plan"])},
        "files": ["engine.plan", "kernels/norm.cubin", "vocab.txt"],
    }


def test_a_whole_package_of_another_product_passes(tmp_path: Path) -> None:
    assert check(of_onnx(tmp_path), ORT) == 0
    result = json.loads((tmp_path / "outputs" / "result.json").read_text())
    assert sorted(result["built"]) == ["model.onnx", "model.onnx.data"]


@pytest.mark.parametrize(("make", "room"), [(of_plan, RTX), (of_onnx, ORT)])
def test_changed_and_missing_files_fail_together(
    make: Any, room: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path)
    first, *_, last = sorted(FILES if room == RTX else MODEL)
    (tmp_path / "package" / first).write_bytes(b"other")
    (tmp_path / "package" / last).unlink()
    assert check(tmp_path, room) == 1
    errors = capsys.readouterr().err
    changed, missing = "is not the one in the manifest", "is missing"
    assert f"a file of the package {changed}\n  where:    {first}" in errors
    assert f"a file of the package {missing}\n  where:    {last}" in errors


def test_the_table_of_the_product_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = plan_document({"profiles": []}, files={"engine.plan": digest(b"plan")})
    assert check(write_package(tmp_path, {"engine.plan": b"plan"}, document), RTX) == 1
    assert "no profile for dynamic inputs" in capsys.readouterr().err


def test_a_package_of_another_product_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    product = {"name": "tensorrt", "version": "10.13.3.9"}
    assert check(of_plan(tmp_path, product=product), RTX) == 1
    assert "the package is of another product" in capsys.readouterr().err


def test_a_folder_without_a_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_plan(tmp_path)
    (tmp_path / "package" / "engine.json").unlink()
    assert check(tmp_path, RTX) == 1
    assert "not an engine package" in capsys.readouterr().err


def test_equal_builds_pass_and_different_ones_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for build in ("first", "second"):
        (tmp_path / build).mkdir()
        for name, content in MODEL.items():
            (tmp_path / build / name).write_bytes(content)
    inputs = {build: [f"{build}/{name}" for name in MODEL] for build in ("first", "second")}
    assert step(tmp_path, compare_builds.run, inputs, {}) == 0
    assert json.loads((tmp_path / "outputs" / "result.json").read_text()) == {
        "compared": {name: digest(content) for name, content in MODEL.items()}
    }
    (tmp_path / "second" / "model.onnx.data").write_bytes(b"weightS")
    assert step(tmp_path, compare_builds.run, inputs, {}) == 1
    errors = capsys.readouterr().err
    assert "model.onnx.data, first difference at byte 6" in errors
    assert hashlib.sha256(b"weights").hexdigest() in errors
    assert "model.onnx, first" not in errors

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from step_process import write_request

from enginewright.engines.limits import Limits
from enginewright.engines.manifest import Manifest, read_manifest
from enginewright.engines.registry import find_own
from enginewright.hashing import FileDigest
from enginewright.products.tensorrt_rtx import describe
from enginewright.step import run_step

PLAN = {"sha256": "a" * 64, "size": 10}
BUILD: dict[str, Any] = {
    "product": {"name": "tensorrt-rtx", "version": "1.7.1.116"},
    "files": {"engine.plan": PLAN},
    "tensors": [{"name": "x", "mode": "input", "dtype": "int64", "shape": ["batch", 4]}],
    "own": {
        "profiles": [
            {
                "axes": {"batch": [1, 2, 8]},
                "shapes": {"x": [[1, 4], [2, 4], [8, 4]]},
            }
        ],
        "compute_capabilities": ["8.6"],
        "weight_streaming": False,
        "options": {},
        "libraries": {},
    },
    "warnings": ["a warning"],
    "reproducibility": "functionally equal, bytes may differ",
}
TOOLCHAIN = {
    "product": "tensorrt-rtx",
    "version": "1.7.1.116",
    "cuda": "13.0",
    "minimum_driver": "580.65.06",
    "compute_capabilities": ["8.6", "8.9"],
}
PARAMETERS: dict[str, Any] = {
    "name": "tiny",
    "task": "text-generation",
    "source": {"kind": "onnx", "address": "models/tiny:fp16"},
    "files": {"engine.plan": PLAN, "tokenizer.json": {"sha256": "b" * 64, "size": 2}},
    "inputs": [],
    "toolchain": TOOLCHAIN,
}


def run(folder: Path, build: dict[str, Any], parameters: dict[str, Any]) -> int:
    (folder / "build.json").write_text(json.dumps(build))
    request = write_request(folder, "write_manifest", {"build": ["build.json"]}, parameters)
    return run_step(describe.run, request, folder / "outputs")


def described(
    folder: Path, build: dict[str, Any] = BUILD, parameters: dict[str, Any] = PARAMETERS
) -> Manifest:
    assert run(folder, build, parameters) == 0
    return read_manifest(folder / "outputs" / "engine.json", find_own)


def test_joins_build_and_package(tmp_path: Path) -> None:
    manifest = described(tmp_path)
    assert manifest.built == ("engine.plan",)
    assert manifest.files == {
        "engine.plan": FileDigest("a" * 64, 10),
        "tokenizer.json": FileDigest("b" * 64, 2),
    }
    assert (manifest.own["minimum_driver"], manifest.own["cuda"]) == ("580.65.06", "13.0")
    assert manifest.limits == Limits(batch=8)
    assert manifest.warnings == ("a warning",)
    assert manifest.plugins == ()
    assert manifest.reproducibility == "functionally equal, bytes may differ"
    assert json.loads((tmp_path / "outputs" / "result.json").read_text()) == {
        "name": "tiny",
        "built": ["engine.plan"],
    }
    assert str(tmp_path) not in (tmp_path / "outputs" / "engine.json").read_text()


def test_the_models_length_limits_what_may_be_asked(tmp_path: Path) -> None:
    axes = {"batch": [1, 1, 2], "sequence": [1, 8, 64]}
    shapes = {"x": [[1, 1], [1, 8], [2, 64]]}
    own = {**BUILD["own"], "profiles": [{"axes": axes, "shapes": shapes}]}
    tensors = [{**BUILD["tensors"][0], "shape": ["batch", "sequence"]}]
    length = {"tokens": 48, "source": "max_position_embeddings"}
    parameters = {**PARAMETERS, "length": length, "generation": {"stop": [2], "begin": [1]}}
    manifest = described(tmp_path, {**BUILD, "own": own, "tensors": tensors}, parameters)
    assert manifest.limits == Limits(2, 64, 48)
    assert manifest.generation is not None
    assert (manifest.generation.stop, manifest.generation.begin) == ((2,), (1,))


def errors(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    build: dict[str, Any],
    parameters: dict[str, Any],
) -> str:
    assert run(folder, build, parameters) == 1
    assert not (folder / "outputs" / "engine.json").exists()
    return capsys.readouterr().err


def test_another_plan_than_the_built_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"engine.plan": {"sha256": "c" * 64, "size": 10}}
    text = errors(tmp_path, capsys, BUILD, {**PARAMETERS, "files": files})
    assert "a file is not the one that was built\n  where:    parameters, files['engine.p" in text
    assert f"  expected: sha256 {'a' * 64}, 10 bytes" in text


def test_a_fourth_version_field_that_differs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toolchain = {**TOOLCHAIN, "version": "1.7.1.115"}
    text = errors(tmp_path, capsys, BUILD, {**PARAMETERS, "toolchain": toolchain})
    assert "the toolchain is not the one that built" in text
    assert "where:    parameters, toolchain.version" in text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"toolchain": None}, "no toolchain"),
        (
            {"kernels": [{"name": "norm", "path": "norm.cubin"}]},
            "kernel `norm` needs a file that is not in the package",
        ),
    ],
)
def test_what_the_package_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], text: str
) -> None:
    assert text in errors(tmp_path, capsys, BUILD, {**PARAMETERS, **change})


def test_the_engine_of_another_product_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    product = {"name": "onnxruntime", "version": "1.7.1.116"}
    text = errors(tmp_path, capsys, {**BUILD, "product": product}, PARAMETERS)
    assert "another product\n  where:    result of the build, product.name" in text


def test_all_problems_come_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parameters = {key: value for key, value in PARAMETERS.items() if key not in ("task", "inputs")}
    build = {**BUILD, "warnings": {}}
    text = errors(tmp_path, capsys, build, {**parameters, "colour": "red"})
    for line in (
        "field has a wrong value\n  where:    result of the build, warnings",
        "unknown field `colour`",
        "field `task` is missing",
        "field `inputs` is missing",
    ):
        assert line in text


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    digests = []
    for name in ("a", "another folder"):
        folder = tmp_path / name
        folder.mkdir()
        described(folder)
        written = sorted((folder / "outputs").iterdir())
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in written])
    assert digests[0] == digests[1]
    names = [path.name for path in written]
    assert names == ["README.md", "digests.json", "engine.json", "result.json"]

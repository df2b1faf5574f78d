"""What a test measures is what `run` runs: a packaged engine is not optimized again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from engine_document import onnx_document
from onnx import TensorProto, helper, numpy_helper

from enginewright import canonical_json
from enginewright.engines.opening import open_backend
from enginewright.engines.package import read_package
from enginewright.engines.registry import find_own
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.step import ActionRequest, InputFile
from enginewright.validation.candidate import open_candidate
from enginewright.validation.measurement_request import MeasurementRequest

ROWS, COLUMNS = 64, 16
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2, ROWS)).astype(np.float32)
TENSORS = [
    {"name": "x", "mode": "input", "dtype": "float32", "shape": ["batch", ROWS]},
    {"name": "y", "mode": "output", "dtype": "float32", "shape": ["batch", COLUMNS]},
]
ROUNDING = """
<ir_version: 10, opset_import: ["" : 21]>
graph (bfloat16[batch] x) => (bfloat16[batch] y) { y = Add(x, x) }
"""


def four_bit_model() -> onnx.ModelProto:
    """ONNX Runtime's optimizer makes one operator of the two, which multiplies in eight bits."""
    values = RANDOM.integers(-8, 8, ROWS * COLUMNS).tolist()
    scales = (RANDOM.random((ROWS // 32, COLUMNS)) * 0.1 + 0.01).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["w", "s"], ["wide"], axis=0, block_size=32),
            helper.make_node("MatMul", ["x", "wide"], ["y"]),
        ],
        "four bits",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", ROWS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", COLUMNS])],
        [
            helper.make_tensor("w", TensorProto.INT4, [ROWS, COLUMNS], values),
            numpy_helper.from_array(scales, "s"),
        ],
    )
    opset = helper.make_opsetid("", 21)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    path = tmp_path / "engine" / "model.onnx"
    path.parent.mkdir()
    onnx.save(four_bit_model(), path)
    files = {"model.onnx": vars(FileDigest.of(path))}
    limits = {"batch": 4, "total_sequence": 32}
    document = onnx_document(files=files, tensors=TENSORS, limits=limits)
    canonical_json.write(path.with_name("engine.json"), document)
    return path.parent


def asked(role: str, *paths: Path) -> ActionRequest:
    files = tuple(InputFile(path, FileDigest.of(path)) for path in paths)
    return ActionRequest("measure_accuracy", {role: files, "serving": ()}, {})


WANTED = MeasurementRequest("text-generation", room="enginewright.products.onnxruntime")


def test_the_packaged_engine_is_measured_as_run_runs_it(package: Path) -> None:
    opened = open_candidate(asked("package", *sorted(package.iterdir())), WANTED)
    measured, _ = opened.candidate.backend.run({"x": X}, ["y"])
    served, _ = open_backend(read_package(package, find_own)).run({"x": X}, ["y"])
    assert measured["y"].tolist() == served["y"].tolist()
    again = onnxruntime.InferenceSession(str(package / "model.onnx")).run(None, {"x": X})[0]
    # By a hundredth of a number of this size: were it optimized again, the test would not say so.
    assert np.abs(again - served["y"]).max() > 0.01
    assert opened.description["measured"] == "the packaged engine, opened as `run` opens it"
    limits = opened.candidate.interface.limits
    assert (limits.batch, limits.sequence, limits.total_sequence) == (4, None, 32)


def test_a_damaged_package_is_not_measured(package: Path) -> None:
    with (package / "model.onnx").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(InputError, match=r"model\.onnx"):
        open_candidate(asked("package", *sorted(package.iterdir())), WANTED)


def test_a_graph_stands_for_a_plan_and_is_said_to(package: Path) -> None:
    path = package / "model.onnx"
    onnx.save(onnx.parser.parse_model(ROUNDING), path)
    opened = open_candidate(asked("model", path), WANTED)
    assert (
        "it stands for the plan, which needs a GPU and was not run"
        in (opened.description["measured"])
    )
    assert "bfloat16 emulated" in opened.description["arithmetic"]

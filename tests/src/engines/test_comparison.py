from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

from enginewright.engines.comparison import compare
from enginewright.engines.first_difference import first_difference

MIB = 1 << 20


@pytest.mark.parametrize(
    ("first", "second", "offset"),
    [
        (b"", b"", None),
        (b"plan", b"plan", None),
        (b"plan", b"plaN", 3),
        (b"plan", b"plan and more", 4),
        (b"x" * MIB + b"a", b"x" * MIB + b"b", MIB),
        (b"x" * (MIB + 5), b"x" * MIB, MIB),
    ],
)
def test_offset_of_the_first_difference(
    tmp_path: Path, first: bytes, second: bytes, offset: int | None
) -> None:
    (tmp_path / "first").write_bytes(first)
    (tmp_path / "second").write_bytes(second)
    assert first_difference(tmp_path / "first", tmp_path / "second") == offset


@pytest.mark.parametrize(("begin", "end", "offset"), [(0, 3, None), (1, 4, 3), (4, 6, None)])
def test_only_a_range_is_compared(tmp_path: Path, begin: int, end: int, offset: int | None) -> None:
    (tmp_path / "first").write_bytes(b"plan..")
    (tmp_path / "second").write_bytes(b"plaN..")
    assert first_difference(tmp_path / "first", tmp_path / "second", begin, end) == offset


def files(folder: Path) -> dict[str, Path]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path for path in paths}


def builds(tmp_path: Path, first: dict[str, bytes], second: dict[str, bytes]) -> list[str]:
    for name, contents in (("first", first), ("second", second)):
        for file, data in contents.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_bytes(data)
    return places(tmp_path)


def places(tmp_path: Path) -> list[str]:
    found = compare(files(tmp_path / "first"), files(tmp_path / "second"))
    return [problem.where for problem in found]


def test_a_difference_names_file_offset_and_both_digests(tmp_path: Path) -> None:
    builds(tmp_path, {"engine.plan": b"abc"}, {"engine.plan": b"abd"})
    [problem] = compare(files(tmp_path / "first"), files(tmp_path / "second"))
    assert problem.where == "engine.plan, first difference at byte 2"
    assert problem.expected == f"sha256 {hashlib.sha256(b'abc').hexdigest()}, 3 bytes"
    assert problem.actual == f"sha256 {hashlib.sha256(b'abd').hexdigest()}, 3 bytes"


def test_every_file_that_differs_is_named(tmp_path: Path) -> None:
    first = {"rank0.engine": b"a", "rank1.engine": b"b", "config.json": b"{}"}
    second = {"rank0.engine": b"c", "rank1.engine": b"d", "config.json": b"{}"}
    assert builds(tmp_path, first, second) == [
        "rank0.engine, first difference at byte 0",
        "rank1.engine, first difference at byte 0",
    ]


def test_a_file_that_one_build_alone_made(tmp_path: Path) -> None:
    builds(tmp_path, {"a": b"1", "b": b"2"}, {"a": b"1", "c": b"3"})
    found = compare(files(tmp_path / "first"), files(tmp_path / "second"))
    assert [(problem.where, problem.expected) for problem in found] == [
        ("b", "by the first build"),
        ("c", "by the second build"),
    ]


def test_equal_files_have_no_problem(tmp_path: Path) -> None:
    assert builds(tmp_path, {"a": b"abc"}, {"a": b"abc"}) == []


def test_the_tensors_of_safetensors_that_differ(tmp_path: Path) -> None:
    tensors = {name: np.zeros((2, 2), np.float32) for name in ("up", "gate", "down")}
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        save_file(tensors, tmp_path / folder / "rank0.safetensors")
        tensors = {**tensors, "gate": np.float32([[0, 0], [0, 1]])}
    [place] = places(tmp_path)
    assert place.endswith(": tensor `gate`")


def test_a_safetensors_file_with_other_tensors(tmp_path: Path) -> None:
    for folder, names in (("first", ("a", "b")), ("second", ("a", "c"))):
        (tmp_path / folder).mkdir()
        tensors = {name: np.zeros(2, np.float32) for name in names}
        save_file(tensors, tmp_path / folder / "w.safetensors", metadata={"by": folder})
    [place] = places(tmp_path)
    for part in ("metadata", "`b` (first build only)", "`c` (second build only)"):
        assert part in place


def save_model(folder: Path, weights: dict[str, float], operator: str = "Relu") -> None:
    """Two weights, whose bytes lie in a file beside the model, and two nodes."""
    folder.mkdir()
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="product"),
        helper.make_node(operator, ["h"], ["y"], name="last"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in "xy"]
    tensors = [
        numpy_helper.from_array(np.full((4, 4), value, np.float32), name)
        for name, value in weights.items()
    ]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    location = "model.onnx.data"
    onnx.save(
        model, folder / "model.onnx", save_as_external_data=True, location=location,
        size_threshold=0,
    )  # fmt: skip


def test_the_weights_beside_an_onnx_model_that_differ(tmp_path: Path) -> None:
    save_model(tmp_path / "first", {"w": 1.0, "b": 2.0})
    save_model(tmp_path / "second", {"w": 1.0, "b": 3.0})
    assert places(tmp_path) == [
        "model.onnx.data, first difference at byte 66: tensor `b`",
    ]


def test_the_node_of_an_onnx_model_that_differs(tmp_path: Path) -> None:
    save_model(tmp_path / "first", {"w": 1.0})
    save_model(tmp_path / "second", {"w": 1.0}, "Tanh")
    [place] = places(tmp_path)
    assert place.startswith("model.onnx, first difference at byte ")
    assert place.endswith(": node 1 (Relu and Tanh)")


def test_fields_and_initializers_of_an_onnx_model(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        save_model(tmp_path / folder, {"w": 1.0})
    path = tmp_path / "second" / "model.onnx"
    model = onnx.load(path, load_external_data=False)
    model.producer_version = "another"
    model.graph.initializer[0].doc_string = "changed"
    path.write_bytes(model.SerializeToString())
    [place] = places(tmp_path)
    assert place.endswith(": field `producer_version`, initializer `w`")


def test_a_file_with_the_suffix_of_a_model_that_is_none(tmp_path: Path) -> None:
    assert builds(tmp_path, {"a.onnx": b"abc"}, {"a.onnx": b"abd"}) == [
        "a.onnx, first difference at byte 2"
    ]

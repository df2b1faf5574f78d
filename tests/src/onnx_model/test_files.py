from __future__ import annotations

from pathlib import Path

import pytest

from enginewright.errors import InputError
from enginewright.onnx_model.files import find_model


def test_finds_the_graph_among_its_data() -> None:
    paths = [Path("m/model.onnx.data"), Path("m/model.onnx"), Path("m/model.safetensors")]
    assert find_model(paths) == Path("m/model.onnx")


@pytest.mark.parametrize(
    ("names", "actual"),
    [([], "none"), (["a.data"], "a.data"), (["a.onnx", "b.onnx"], "a.onnx, b.onnx")],
)
def test_none_and_several_are_refused(names: list[str], actual: str) -> None:
    with pytest.raises(InputError) as caught:
        find_model([Path(name) for name in names])
    assert caught.value.problems[0].actual == actual

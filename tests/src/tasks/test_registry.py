"""A task is a folder and one row: a toy is exported, measured, judged and run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
import torch
import transformers
from engine_document import onnx_document
from onnx import numpy_helper
from step_process import write_request

from enginewright import canonical_json
from enginewright.actions import export_onnx, judge_accuracy, measure_accuracy
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.run.__main__ import main
from enginewright.step import Step, run_step
from enginewright.tasks.registry import TASKS, Task, find_task

PARTS = ("feed", "measure", "runner")
OF_EXPORTED = ("signature", "torch_module")


def test_an_unknown_task_names_those_that_are_known() -> None:
    with pytest.raises(InputError) as caught:
        find_task("poetry", "engine.json, `task`")
    [problem] = caught.value.problems
    assert problem.expected == " or ".join(sorted(TASKS))
    assert (problem.where, problem.actual) == ("engine.json, `task`", "'poetry'")


@pytest.mark.parametrize("name", TASKS)
def test_every_room_has_its_parts(name: str) -> None:
    for part in (*PARTS, *(OF_EXPORTED if TASKS[name].is_exported else ())):
        assert TASKS[name].part(part).__doc__


def step(action: Step, folder: Path, inputs: dict[str, list[Path]], parameters: Any) -> int:
    folder.mkdir(exist_ok=True)
    return run_step(action, write_request(folder, "x", inputs, parameters), folder / "outputs")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one registration."""
    monkeypatch.setitem(TASKS, "first-word", Task("first-word", "toy_room", '--ids "3 5"'))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=24,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=32,
        architectures=["BertModel"],
    )
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    model.save_pretrained(tmp_path / "checkpoint")
    (tmp_path / "checkpoint" / "rows.txt").write_text("3 5 7\n9\n4 4\n")
    return tmp_path / "checkpoint"


@pytest.mark.usefixtures("toy")
def test_a_toy_task_is_exported_measured_and_judged(checkpoint: Path, tmp_path: Path) -> None:
    files = {"config": [checkpoint / "config.json"], "weights": [checkpoint / "model.safetensors"]}
    parameters = {
        "task": "first-word",
        "opset": 23,
        "dtype": "float32",
    }
    assert step(export_onnx.run, tmp_path / "export", files, parameters) == 0
    exported = tmp_path / "export" / "outputs" / "model"
    inputs = {
        "model": [path for path in sorted(exported.iterdir()) if path.suffix != ".json"],
        "serving": [],
        "tokenizer": [],
        "dataset": [checkpoint / "rows.txt"],
        **files,
    }
    measured = {"task": "first-word", "max_samples": 2}
    assert step(measure_accuracy.run, tmp_path / "measure", inputs, measured) == 0
    path = tmp_path / "measure" / "outputs" / "measurements.json"
    measurements = json.loads(path.read_text())
    assert measurements["total"]["rows"] == 2
    assert measurements["total"]["max_absolute_error"] == 0.0
    bounds = {"min_worst_cosine_similarity": 0.999999}
    assert step(judge_accuracy.run, tmp_path / "judge", {"measurements": [path]}, bounds) == 0


@pytest.mark.usefixtures("toy")
def test_a_toy_task_is_run_by_its_own_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    text = """
    <ir_version: 10, opset_import: ["" : 21]>
    graph (int64[batch, sequence] input_ids) => (float[batch, 2] first)
    {
      zero = Constant<value_int=0>()
      ids = Gather<axis=1>(input_ids, zero)
      first = Gather(table, ids)
    }
    """
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(table, "table"))
    onnx.save(model, tmp_path / "model.onnx")
    document = onnx_document(
        task="first-word",
        tensors=[
            {"name": "input_ids", "mode": "input", "dtype": "int64", "shape": ["batch", "n"]},
            {"name": "first", "mode": "output", "dtype": "float32", "shape": ["batch", 2]},
        ],
        files={"model.onnx": vars(FileDigest.of(tmp_path / "model.onnx"))},
    )
    canonical_json.write(tmp_path / "engine.json", document)
    assert main([str(tmp_path), "--ids", "3 1"]) == 0
    assert json.loads(capsys.readouterr().out) == [6.0, 7.0]
    assert main([str(tmp_path), "--prompt", "x"]) == 1
    errors = capsys.readouterr().err
    assert "`--prompt` does not fit this engine" in errors
    assert "actual:   task first-word" in errors
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(flag in shown for flag in ("--ids", "--prompt", "--lines"))

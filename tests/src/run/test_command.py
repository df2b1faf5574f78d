"""`python -m enginewright.run` on packages of tiny engines, and what it refuses."""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from engine_document import onnx_document, plan_document
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

from enginewright import canonical_json
from enginewright.hashing import FileDigest
from enginewright.run.__main__ import main

WORDS = ("<end>", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def save(folder, nodes, inputs, outputs, initializers):
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs],
        [numpy_helper.from_array(value, name) for name, value in initializers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    onnx.save(model, folder / "model.onnx")


def write_manifest(folder, task, tensors, **changes):
    paths = [path for path in folder.iterdir() if path.name != "engine.json"]
    files = {path.name: vars(FileDigest.of(path)) for path in paths}
    document = onnx_document(task=task, tensors=tensors, files=files, limits={}, **changes)
    canonical_json.write(folder / "engine.json", document)


def write_tokenizer(folder):
    vocabulary = {word: index for index, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<end>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<end>"])
    tokenizer.enable_truncation(2)
    tokenizer.save(str(folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    """Counts: after each word comes the next one, and after nine the end."""
    folder = tmp_path_factory.mktemp("generator")
    table = np.eye(10, dtype=np.float32)[np.r_[1:10, 0]] * 8
    save(
        folder,
        [helper.make_node("Gather", ["table", "input_ids"], ["logits"])],
        [("input_ids", TensorProto.INT64, ["batch", "sequence"])],
        [("logits", TensorProto.FLOAT, ["batch", "sequence", 10])],
        {"table": table},
    )
    tensors = [
        {"name": "input_ids", "mode": "input", "dtype": "int64", "shape": ["batch", "sequence"]},
        {
            "name": "logits",
            "mode": "output",
            "dtype": "float32",
            "shape": ["batch", "sequence", 10],
        },
    ]
    write_manifest(folder, "text-generation", tensors, generation={"stop": [0], "begin": []})
    write_tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    """Two numbers a line: how many tokens, and how many places with padding."""
    folder = tmp_path_factory.mktemp("embedder")
    save(
        folder,
        [
            helper.make_node("Mul", ["attention_mask", "zero"], ["zeros"]),
            helper.make_node("Add", ["zeros", "one"], ["ones"]),
            helper.make_node("ReduceSum", ["attention_mask", "axes"], ["real"], keepdims=1),
            helper.make_node("ReduceSum", ["ones", "axes"], ["all"], keepdims=1),
            helper.make_node("Mul", ["input_ids", "zero"], ["nothing"]),
            helper.make_node("ReduceSum", ["nothing", "axes"], ["none"], keepdims=1),
            helper.make_node("Add", ["all", "none"], ["length"]),
            helper.make_node("Concat", ["real", "length"], ["counts"], axis=1),
            helper.make_node("Cast", ["counts"], ["embeddings"], to=TensorProto.FLOAT),
        ],
        [
            ("input_ids", TensorProto.INT64, ["batch", "sequence"]),
            ("attention_mask", TensorProto.INT64, ["batch", "sequence"]),
        ],
        [("embeddings", TensorProto.FLOAT, ["batch", 2])],
        {"zero": np.int64(0), "one": np.int64(1), "axes": np.array([1])},
    )
    shape = ["batch", "sequence"]
    tensors = [
        {"name": "input_ids", "mode": "input", "dtype": "int64", "shape": shape},
        {"name": "attention_mask", "mode": "input", "dtype": "int64", "shape": shape},
        {"name": "embeddings", "mode": "output", "dtype": "float32", "shape": ["batch", 2]},
    ]
    write_manifest(folder, "feature-extraction", tensors)
    write_tokenizer(folder)
    canonical_json.write(folder / "tokenizer_config.json", {"model_max_length": 5})
    return folder


def test_row_e14_any_stop_token_of_the_package_ends_the_text(generator, tmp_path, capsys):
    folder = shutil.copytree(generator, tmp_path / "engine")
    document = canonical_json.read_object(folder / "engine.json")
    document["generation"] = {"stop": [0, WORDS.index("seven")], "begin": []}
    canonical_json.write(folder / "engine.json", document)
    assert main([str(folder), "--prompt", "one two three four"]) == 0
    captured = capsys.readouterr()
    assert captured.out.split()[:2] == ["five", "six"]
    assert "ended by end of text" in captured.err


def test_streams_until_the_end_of_text(generator, capsys):
    assert main([str(generator), "--prompt", "one two three four"]) == 0
    captured = capsys.readouterr()
    assert captured.out.split() == ["five", "six", "seven", "eight", "nine"]
    assert "4 tokens read" in captured.err
    assert "5 generated" in captured.err
    assert "tokens/s" in captured.err
    assert "ended by end of text" in captured.err
    assert "peak memory" in captured.err


def test_json(generator, capsys):
    assert main([str(generator), "--prompt", "one", "--max-tokens", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["tokens"] == [2, 3, 4]
    assert document["text"].split() == ["two", "three", "four"]
    assert document["finish_reason"] == "length"
    assert document["prompt_tokens"] == 1
    assert document["peak_bytes"] > 1e6


def test_stop_text(generator, capsys):
    arguments = ["--prompt", "one", "--stop", "four", "--json"]
    assert main([str(generator), *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["text"].split() == ["two", "three"]
    assert document["finish_reason"] == "stop text"


def test_sampling_is_reproducible(generator, capsys):
    texts = []
    for seed in ("5", "5", "6"):
        arguments = ["--temperature", "8", "--seed", seed, "--max-tokens", "20", "--json"]
        assert main([str(generator), "--prompt", "one", *arguments]) == 0
        texts.append(json.loads(capsys.readouterr().out)["tokens"])
    assert texts[0] == texts[1] != texts[2]


def test_embeds_each_line(embedder, tmp_path, capsys):
    (tmp_path / "lines.txt").write_text("one two three\n\nfour\n", encoding="utf-8")
    assert main([str(embedder), "--lines", str(tmp_path / "lines.txt")]) == 0
    captured = capsys.readouterr()
    vectors = [json.loads(line) for line in captured.out.splitlines()]
    assert vectors == [[3.0, 3.0], [0.0, 3.0], [1.0, 3.0]]
    assert "3 lines" in captured.err


def test_long_lines_are_all_named(embedder, tmp_path, capsys):
    lines = "one two three four five six\none\none one one one one one one\n"
    (tmp_path / "lines.txt").write_text(lines, encoding="utf-8")
    assert main([str(embedder), "--lines", str(tmp_path / "lines.txt")]) == 1
    error = capsys.readouterr().err
    assert "line 1" in error
    assert "line 3" in error
    assert "at most 5 tokens" in error


def refuse(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


def test_task_must_fit(generator, embedder, tmp_path, capsys):
    assert "task text-generation" in refuse(capsys, embedder, "--prompt", "one")
    lines = tmp_path / "lines.txt"
    lines.write_text("one\n")
    assert "task feature-extraction" in refuse(capsys, generator, "--lines", lines)


def test_not_a_package(tmp_path, capsys):
    assert "engine.json" in refuse(capsys, tmp_path, "--prompt", "one")


def copy(source, target):
    target.mkdir()
    for path in source.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def test_changed_model(generator, tmp_path, capsys):
    folder = copy(generator, tmp_path / "changed")
    (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes() + b"\0")
    assert "is not the one in the manifest" in refuse(capsys, folder, "--prompt", "one")


def test_missing_tokenizer(generator, tmp_path, capsys):
    folder = copy(generator, tmp_path / "bare")
    (folder / "tokenizer.json").unlink()
    assert "no tokenizer" in refuse(capsys, folder, "--prompt", "one")


def test_settings_out_of_range(generator, capsys):
    error = refuse(capsys, generator, "--prompt", "one", "--top-p", "2", "--temperature", "-1")
    assert "top_p" in error
    assert "temperature" in error


def test_plan_is_refused_before_it_is_read(generator, tmp_path, capsys):
    """No GPU here: the plan is not a plan at all, and the reason is the missing device."""
    folder = copy(generator, tmp_path / "rtx")
    plan = Path(folder / "engine.plan")
    plan.write_bytes(b"not a plan")
    document = plan_document(
        {"compute_capabilities": ["8.9"]}, files={plan.name: vars(FileDigest.of(plan))}
    )
    canonical_json.write(folder / "engine.json", document)
    error = refuse(capsys, folder, "--prompt", "one")
    assert "needs a GPU" in error or "not built for this GPU" in error
    assert "compute capability 8.9" in error


def test_row_e16_a_token_beyond_the_vocabulary(generator, tmp_path, capsys):
    """Known when it is built, and forgotten when it runs: Gather fails in the runtime."""
    folder = copy(generator, tmp_path / "grown")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens(["<new>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    write_manifest(folder, "text-generation", manifest_of(folder)["tensors"])
    error = refuse(capsys, folder, "--prompt", "one <new> two")
    assert "a token is beyond the model's vocabulary" in error
    assert "token '<new>'" in error
    assert "an id below 10, the size of the vocabulary" in error
    assert "actual:   id 10" in error
    assert main([str(folder), "--prompt", "one two"]) == 0


def test_the_checkpoints_prompt_goes_before_each_line(embedder, tmp_path, capsys):
    folder = copy(embedder, tmp_path / "prompted")
    prompts = {"prompts": {"query": "one two "}, "default_prompt_name": "query"}
    canonical_json.write(folder / "config_sentence_transformers.json", prompts)
    write_manifest(folder, "feature-extraction", manifest_of(folder)["tensors"])
    (tmp_path / "lines.txt").write_text("three\n", encoding="utf-8")
    assert main([str(folder), "--lines", str(tmp_path / "lines.txt")]) == 0
    assert json.loads(capsys.readouterr().out) == [3.0, 3.0]


def test_nothing_to_do_is_said(generator, embedder, capsys):
    assert "expected: --prompt TEXT" in refuse(capsys, generator)
    assert "expected: --lines FILE" in refuse(capsys, embedder)


def manifest_of(folder):
    return json.loads((folder / "engine.json").read_text())

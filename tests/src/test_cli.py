"""The command line: exit codes, JSON, and plain text for what the user can fix."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import captured_host
import pytest
from engine_document import PLAN, onnx_document, plan_document

from enginewright.cli import main
from enginewright.host.bundle import write_bundle
from enginewright.host.captured import Capture, CapturedSource, RecordingSource
from enginewright.host.probe import probe

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "max_position_embeddings": 40960,
    "torch_dtype": "bfloat16",
    "vocab_size": 151936,
}


def bundle(path: Path, capture: Capture) -> str:
    recording = RecordingSource(CapturedSource(capture))
    probe(recording)
    write_bundle(recording.capture, path)
    return str(path)


@pytest.fixture
def h200(tmp_path: Path) -> str:
    gpus = (captured_host.gpu(total=150754820096),)
    return bundle(tmp_path / "h200.bundle", captured_host.capture(gpus=gpus))


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A host without a GPU."""
    nothing = captured_host.capture(
        module=None, library=None, nodes=(), gpus=(), error={"error": "not found"}
    )
    return bundle(tmp_path / "bare.bundle", nothing)


def engine(folder: Path) -> str:
    folder.mkdir()
    manifest = plan_document({"compute_capabilities": ["8.9"]}, files={"engine.plan": PLAN})
    (folder / "engine.json").write_text(json.dumps(manifest), encoding="utf-8")
    return str(folder)


def onnx_engine(folder: Path, model: bytes = b"a model") -> str:
    """A whole package of an engine that needs no GPU."""
    folder.mkdir()
    (folder / "model.onnx").write_bytes(model)
    digest = {"sha256": hashlib.sha256(b"a model").hexdigest(), "size": len(b"a model")}
    manifest = onnx_document(files={"model.onnx": digest})
    (folder / "engine.json").write_text(json.dumps(manifest), encoding="utf-8")
    return str(folder)


def checkpoint(folder: Path, parameters: int = 1_720_574_976) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    size = 2 * parameters
    entry = {"w": {"dtype": "BF16", "shape": [parameters, 1], "data_offsets": [0, size]}}
    header = json.dumps(entry).encode()
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        stream.truncate(8 + len(header) + size)
    return str(folder)


def test_probe_of_a_bundle_as_json(h200, capsys):
    assert main(["probe", "--bundle", h200, "--json"]) == 0
    host = json.loads(capsys.readouterr().out)
    assert host["gpus"][0]["name"] == "NVIDIA H200"
    assert host["gpus"][0]["memory_total"] == 150754820096
    assert "unknown" in host["gpus"][0]["ecc"]


def test_collect_then_doctor(tmp_path, capsys):
    bundle = str(tmp_path / "here.bundle")
    assert main(["collect", bundle]) == 0
    assert main(["doctor", "--bundle", bundle]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


def test_doctor_on_an_engine_that_needs_no_gpu(bare, tmp_path, capsys):
    arguments = ["doctor", "--bundle", bare, "--engine"]
    assert main([*arguments, onnx_engine(tmp_path / "whole")]) == 0
    out = capsys.readouterr().out
    assert "This engine runs without a GPU" in out
    assert "error" not in out
    assert main([*arguments, onnx_engine(tmp_path / "cut", b"a mod")]) == 1
    assert "engine.file-changed" in capsys.readouterr().out


def test_doctor_on_an_h200_refuses_an_rtx_engine(h200, tmp_path, capsys):
    assert main(["doctor", "--bundle", h200]) == 0
    capsys.readouterr()
    assert main(["doctor", "--bundle", h200, "--engine", engine(tmp_path / "e"), "--json"]) == 1
    diagnosis = json.loads(capsys.readouterr().out)
    codes = [finding["code"] for finding in diagnosis["findings"]]
    assert "engine.product-cannot-run" in codes
    assert diagnosis["healthy"] is False


def test_doctor_explains_a_log(tmp_path, h200, capsys):
    log = tmp_path / "server.log"
    log.write_text("x\nNo available memory for the cache blocks\n", encoding="utf-8")
    assert main(["doctor", "--bundle", h200, "--log", str(log)]) == 1
    assert "log.no-cache-blocks" in capsys.readouterr().out
    log.write_text("all is well\n", encoding="utf-8")
    assert main(["doctor", "--bundle", h200, "--log", str(log)]) == 0
    assert capsys.readouterr().out == "No known error text in this log.\n"


def test_doctor_compares_a_container_with_its_host(h200, tmp_path, capsys):
    inside = tmp_path / "inside.bundle"
    write_bundle(Capture(), inside)
    assert main(["doctor", "--bundle", str(inside), "--outside", h200]) == 1
    assert "container.devices-hidden" in capsys.readouterr().out


def test_row_52_doctor_on_an_engine_of_tensorrt_llm(h200, tmp_path, capsys):
    folder = tmp_path / "llm"
    folder.mkdir()
    (folder / "config.json").write_text('{"version": "0.9.0", "build_config": {}}', "utf-8")
    arguments = ["doctor", "--bundle", h200, "--engine", str(folder), "--tensorrt-llm"]
    assert main([*arguments, "0.8.0"]) == 1
    assert "built by TensorRT-LLM 0.9.0, the runtime is 0.8.0" in capsys.readouterr().out
    assert main([*arguments, "0.9.0"]) == 0


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"{}"])
def test_a_damaged_bundle_is_bad_usage(tmp_path, capsys, data):
    (tmp_path / "b").write_bytes(data)
    assert main(["doctor", "--bundle", str(tmp_path / "b")]) == 2
    assert "bundle refused" in capsys.readouterr().err


def test_usage_errors_exit_with_2():
    for arguments in ([], ["nonsense"], ["size", "x"], ["compat", "nonsense"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2


def test_compat_shows_a_row_and_the_keys(capsys):
    assert main(["compat", "driver_cuda", "13.0"]) == 0
    assert "driver: 580.65.06" in capsys.readouterr().out
    assert main(["compat", "product"]) == 0
    assert "tensorrt-rtx 1.7.1.116" in capsys.readouterr().out
    assert main(["compat", "product", "tensorrt-rtx", "1.7.1.116", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"]["precisions"]["7.5"] == ["fp16"]
    assert main(["compat", "ptx", "99"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["torch_wheel", "cu126", "--target", "12.0"], 1),
        (["torch_wheel", "cu128", "--target", "12.0"], 0),
        (["toolkit", "12.1", "--gcc", "13.2"], 1),
        (["toolkit", "12.4", "--target", "12.0a"], 1),
        (["toolkit", "11.8", "--ptx", "8.3"], 1),
        (["toolkit", "12.4", "--ptx", "8.3", "--target", "9.0", "--gcc", "13.2"], 0),
        (["product", "tensorrt-rtx", "1.7.1.116", "--target", "9.0"], 1),
        (["product", "tensorrt-rtx", "1.7.1.116", "--target", "8.9"], 0),
        (["onnx_reader", "onnxruntime", "1.17", "--ir-version", "10"], 1),
        (["onnx_reader", "onnxruntime", "1.17", "--ir-version", "9", "--opset", "20"], 0),
        (["driver_cuda", "10.2", "--driver", "418.87.00"], 1),
        (["driver_cuda", "12.8", "--driver", "525.60.13"], 0),
        (["driver_cuda", "12.8", "--gcc", "13"], 1),
    ],
)
def test_compat_answers_a_question(arguments, code, capsys):
    assert main(["compat", *arguments]) == code
    refused = capsys.readouterr().err
    assert bool(refused) is bool(code)


def test_size_of_a_checkpoint(tmp_path, capsys):
    folder = checkpoint(tmp_path / "c")
    assert main(["size", folder, "--gpu", "RTX 4090", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert plan["token_bytes"] == 114688
    assert plan["weights"] == 2 * 1_720_574_976
    assert plan["max_model_len"] == 40960
    assert plan["tensor_parallel_sizes"] == [1, 2, 4, 8, 16]


def test_row_25_size_with_a_context_above_the_config(tmp_path, capsys):
    arguments = ["size", checkpoint(tmp_path / "c"), "--memory-gib", "24"]
    assert main([*arguments, "--max-model-len", "131072"]) == 1
    output = capsys.readouterr().out
    assert "config.json, max_position_embeddings" in output
    assert main([*arguments, "--max-model-len", "40960"]) == 0


def test_lock_check_and_from_host(h200, tmp_path, capsys):
    assert main(["lock-toolchain", "--from-host", "--bundle", h200]) == 1
    assert "no product whose four version fields are known" in capsys.readouterr().err
    assert main(["lock-toolchain"]) == 1
    request = tmp_path / "request.toml"
    request.write_text(
        'product = "tensorrt-rtx"\ncuda = "13.0"\ncompute_capabilities = ["8.9"]\n'
        'environment = "lockfiles:tensorrt_rtx"\n',
        encoding="utf-8",
    )
    lock = tmp_path / "lock.txt"
    lock.write_text(
        "tensorrt-rtx-cu13-libs==1.7.1.116 --hash=sha256:" + "0" * 64 + "\n", encoding="utf-8"
    )
    library = tmp_path / "libtensorrt_rtx.so.1"
    library.write_bytes(b"library")
    output = tmp_path / "toolchain.toml"
    arguments = ["lock-toolchain", str(request), "--lock", str(lock), "--libraries", str(library)]
    assert main([*arguments, "-o", str(output)]) == 0
    first = output.read_bytes()
    assert main([*arguments, "-o", str(output)]) == 0
    assert output.read_bytes() == first
    assert main(["lock-toolchain", "--check", str(output), "--bundle", h200]) == 1
    assert "no GPU that the toolchain builds for" in capsys.readouterr().err


def record(path: Path, outputs: str) -> str:
    step = {"action": "build_engine", "address": "engines:small", "key": "k", "outputs": outputs}
    path.write_text(json.dumps({"steps": [{**step, "from": "ran here", "bytes": 1}]}))
    return str(path)


def test_two_records_that_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (record(tmp_path / name, "o") for name in ("a.json", "b.json"))
    assert main(["record", first, second]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("same")


def test_two_records_that_do_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = record(tmp_path / "a.json", "o"), record(tmp_path / "b.json", "p")
    assert main(["record", first, second]) == 1
    assert "build_engine engines:small is not deterministic" in capsys.readouterr().out


def test_a_store_with_a_damaged_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "immutable" / "files" / "00"
    folder.mkdir(parents=True)
    (folder / ("0" * 64)).write_bytes(b"not zeros")
    assert main(["verify-store", "--store", str(tmp_path)]) == 1
    assert f"damaged: {folder / ('0' * 64)}, 9 bytes" in capsys.readouterr().out

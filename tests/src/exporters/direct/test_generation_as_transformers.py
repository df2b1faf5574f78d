"""The tree's Qwen3, exported with a KV cache, writes what transformers' `generate` writes."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import transformers

from enginewright import canonical_json
from enginewright.actions.export_direct import run as export_direct
from enginewright.actions.export_onnx import run as export_onnx
from enginewright.actions.verify_checkpoint import run as verify_checkpoint
from enginewright.engines.package import read_package
from enginewright.hashing import FileDigest
from enginewright.products.onnxruntime.backend import open_backend
from enginewright.products.onnxruntime.build import run as build_engine
from enginewright.products.onnxruntime.describe import run as write_manifest
from enginewright.step import ActionRequest, InputFile
from enginewright.tasks.interface import interface_of
from enginewright.tasks.text_generation.decoder import make_decoder
from enginewright.tasks.text_generation.generation import GenerationSettings, generate

CHECKPOINT = Path(__file__).parents[4] / "models/qwen3"
TOKENS = 64


def files(*paths):
    return tuple(InputFile(path, FileDigest.of(path)) for path in paths)


def export(folder, task, logits):
    """`model.onnx` beside its weights, and the normalised config."""
    weights = CHECKPOINT / "model.safetensors"
    verified = folder / "verified"
    verified.mkdir(parents=True)
    inputs = {"config": files(CHECKPOINT / "config.json"), "weights": files(weights)}
    verify_checkpoint(ActionRequest("verify_checkpoint", inputs, {}), verified)
    inputs = {
        "config": files(verified / "config.json"),
        "descriptor": files(verified / "checkpoint.json"),
    }
    parameters = {"task": task, "opset": 23, "dtype": "float32", "logits": logits}
    export_direct(ActionRequest("export_direct", inputs, parameters), folder)
    (folder / "model/model.safetensors").write_bytes(weights.read_bytes())
    return folder / "model", verified / "config.json"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("qwen3")
    model, _ = export(folder / "export", "text-generation-with-past", "last")
    engine = folder / "engine"
    engine.mkdir()
    inputs = {"model": files(*sorted(model.iterdir()))}
    build = build_engine(ActionRequest("build_onnxruntime_engine", inputs, {}), engine)
    canonical_json.write(folder / "build.json", build)
    parameters = {
        "name": "qwen3_cpu",
        "task": "text-generation-with-past",
        "source": {"kind": "onnx", "address": "models/qwen3:cpu"},
        "files": {},
        "inputs": [],
    }
    inputs = {"build": files(folder / "build.json")}
    write_manifest(ActionRequest("write_manifest", inputs, parameters), engine)
    return read_package(engine)


@pytest.fixture(scope="module")
def backend(package):
    return open_backend(package, threads=1)


@pytest.fixture(scope="module")
def reference():
    return transformers.AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def prompts():
    tokenizer = transformers.AutoTokenizer.from_pretrained(CHECKPOINT)
    lines = (CHECKPOINT / "prompts.txt").read_text(encoding="utf-8").splitlines()
    encoded = [tokenizer(line)["input_ids"] for line in lines]
    assert len(encoded) == 20
    assert len({len(prompt) for prompt in encoded}) > 3
    return encoded


def transformers_tokens(reference, prompts):
    """64 greedy tokens for each prompt, in one batch with padding on the left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    with torch.no_grad():
        generated = reference.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=TOKENS,
            min_new_tokens=TOKENS,
            do_sample=False,
            pad_token_id=0,
        )
    return generated[:, longest:].tolist()


class WithoutEndOfText:
    """transformers' `min_new_tokens`: the end-of-text token is never chosen."""

    def __init__(self, decoder):
        self.decoder = decoder

    def start(self, prompts):
        return self._forbid(self.decoder.start(prompts))

    def advance(self, tokens):
        return self._forbid(self.decoder.advance(tokens))

    def _forbid(self, logits):
        logits[:, 0] = -np.inf
        return logits


def engine_tokens(package, backend, prompts, chunk=None):
    decoder = WithoutEndOfText(make_decoder(interface_of(package), backend, chunk=chunk))
    steps = list(generate(decoder, prompts, GenerationSettings(max_tokens=TOKENS)))
    return [list(row) for row in zip(*steps, strict=True)]


@pytest.fixture(scope="module")
def expected(reference, prompts):
    """Each prompt alone: no padding anywhere in the reference."""
    return [transformers_tokens(reference, [prompt])[0] for prompt in prompts]


def test_20_prompts_one_by_one(package, backend, prompts, expected):
    actual = [engine_tokens(package, backend, [prompt])[0] for prompt in prompts]
    assert all(len(tokens) == TOKENS for tokens in actual)
    assert actual == expected


def test_20_prompts_as_one_batch_padded_on_the_left(package, backend, reference, prompts, expected):
    actual = engine_tokens(package, backend, prompts)
    assert actual == transformers_tokens(reference, prompts)
    assert actual == expected


def test_chunked_prefill(package, backend, prompts, expected):
    assert engine_tokens(package, backend, prompts[:4], chunk=3) == expected[:4]


def test_direct_and_torch_exporters_agree(tmp_path, prompts):
    model, config = export(tmp_path / "direct", "text-generation", "all")
    torch_folder = tmp_path / "torch"
    torch_folder.mkdir()
    inputs = {"config": files(config), "weights": files(CHECKPOINT / "model.safetensors")}
    parameters = {"task": "text-generation", "opset": 23, "dtype": "float32"}
    export_onnx(ActionRequest("export_onnx", inputs, parameters), torch_folder)
    direct, traced = (
        onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        for path in (model / "model.onnx", torch_folder / "model/model.onnx")
    )
    assert [value.name for value in direct.get_inputs()] == ["input_ids"]
    for prompt in prompts:
        ids = np.array([prompt], np.int64)
        (a,), (b,) = (session.run(["logits"], {"input_ids": ids}) for session in (direct, traced))
        # Of each position's own vector.
        norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
        assert ((a * b).sum(-1) / norms).min() >= 0.9999
        np.testing.assert_allclose(a, b, atol=1e-3)

"""int4 of the tree's Qwen3: how much worse it predicts text that it has never seen."""

from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from enginewright.actions.export_direct import run as export_direct
from enginewright.actions.quantize_model import run as quantize_model
from enginewright.actions.verify_checkpoint import run as verify_checkpoint
from enginewright.hashing import FileDigest
from enginewright.step import ActionRequest, InputFile

CHECKPOINT = Path(__file__).parents[4] / "models/qwen3"
WINDOW = 256
WINDOWS = 20


def files(*paths):
    return tuple(InputFile(path, FileDigest.of(path)) for path in paths)


def perplexity(model, tokens):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    # In float32: what the quantized weights mean, without a runtime's own rounding.
    settings.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(str(model), settings)
    losses = []
    for begin in range(0, WINDOW * WINDOWS, WINDOW):
        window = tokens[begin : begin + WINDOW + 1]
        (logits,) = session.run(["logits"], {"input_ids": window[None, :-1]})
        scores = logits[0].astype(np.float64)
        scores -= scores.max(axis=-1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=-1, keepdims=True))
        losses.append(-scores[np.arange(len(window) - 1), window[1:]])
    return float(np.exp(np.concatenate(losses).mean()))


def test_int4_rises_by_less_than_a_tenth(tmp_path):
    weights = CHECKPOINT / "model.safetensors"
    inputs = {"config": files(CHECKPOINT / "config.json"), "weights": files(weights)}
    (tmp_path / "verified").mkdir()
    verify_checkpoint(ActionRequest("verify_checkpoint", inputs, {}), tmp_path / "verified")
    inputs = {
        "config": files(tmp_path / "verified/config.json"),
        "descriptor": files(tmp_path / "verified/checkpoint.json"),
    }
    parameters = {"task": "text-generation", "opset": 23, "dtype": "float32"}
    export_direct(ActionRequest("export_direct", inputs, parameters), tmp_path)
    model = tmp_path / "model/model.onnx"
    inputs = {"model": files(model), "weights": files(weights)}
    parameters = {"method": "int4", "group_size": 64}
    result = quantize_model(
        ActionRequest("quantize_model", inputs, parameters), tmp_path / "quantized"
    )
    (model.parent / weights.name).write_bytes(weights.read_bytes())

    tokenizer = Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json"))
    text = (CHECKPOINT / "heldout.txt").read_text(encoding="utf-8")
    tokens = np.array(tokenizer.encode(text).ids, np.int64)
    before = perplexity(model, tokens)
    after = perplexity(tmp_path / "quantized/model/model.onnx", tokens)
    assert before < 40  # a trained model: an untrained one has 1536
    assert 1 < after / before < 1.10
    assert result["matrix_weights"]["tensors"] == 28
    # Scales in float32 here; with float16 it is 0.27.
    assert result["matrix_weights"]["ratio_to_float16"] <= 0.35

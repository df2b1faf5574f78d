"""Graphs of small seeded models say the same as transformers, in ONNX Runtime on the CPU."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import transformers

from enginewright.checkpoint.config import read_config
from enginewright.checkpoint.safetensors_header import read_header
from enginewright.exporters.direct.decoder_architecture import choose_weights, read_architecture
from enginewright.exporters.direct.decoder_graph import GraphOptions, decoder_model
from enginewright.exporters.direct.weight_conversion import convert_file
from enginewright.exporters.direct.weight_layout import ExternalTensor, converted_layout
from enginewright.onnx_model.element_type import element_type

VOCABULARY = 97
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
CONFIGS = {
    "qwen3-tied": transformers.Qwen3Config(**SIZES, head_dim=16, tie_word_embeddings=True),
    "qwen3-yarn": transformers.Qwen3Config(**SIZES, head_dim=16, rope_parameters=YARN),
    "qwen2-one-sliding-layer": transformers.Qwen2Config(
        **SIZES, use_sliding_window=True, sliding_window=5, max_window_layers=1
    ),
    "llama-llama3": transformers.LlamaConfig(**SIZES, rope_parameters=LLAMA3),
    "llama-all-biases-linear": transformers.LlamaConfig(
        **SIZES, attention_bias=True, mlp_bias=True, rope_parameters=LINEAR
    ),
    "llama-declared-head-dim": transformers.LlamaConfig(**SIZES, head_dim=20),
    "mistral-sliding": transformers.MistralConfig(**SIZES, sliding_window=6),
    "mistral-multi-query": transformers.MistralConfig(
        **{**SIZES, "num_key_value_heads": 1}, sliding_window=None
    ),
}


@dataclass
class Model:
    reference: transformers.PreTrainedModel
    folder: Path
    sessions: dict

    def session(self, *, with_past=True, last=False, operator=False, dtype="float32"):
        key = (with_past, last, operator, dtype)
        if key not in self.sessions:
            options = GraphOptions(
                23, element_type(dtype, "test"), with_past, last, attention_operator=operator
            )
            self.sessions[key] = open_session(self.folder, options)
        return self.sessions[key]

    def logits(self, ids, mask, positions):
        with torch.no_grad():
            return self.reference(
                input_ids=torch.from_numpy(ids),
                attention_mask=torch.from_numpy(mask),
                position_ids=torch.from_numpy(positions),
            ).logits.numpy()


def open_session(folder, options):
    config = read_config(folder / "config.json")
    architecture = read_architecture(config, "text-generation", "config.json")
    weights = folder / "model.safetensors"
    stored = [
        ExternalTensor(t.name, t.shape, t.dtype, weights.name, t.begin, t.end)
        for t in read_header(weights).tensors
    ]
    target = folder / f"{options.element_type.name}"
    target.mkdir(exist_ok=True)
    if options.element_type.name == "float32":
        if not (target / weights.name).exists():
            os.link(weights, target / weights.name)
    else:
        (layout,) = converted_layout(stored, options.element_type)
        convert_file(layout, weights, target / weights.name, options.element_type)
        stored = layout.tensors
    model = decoder_model(architecture, choose_weights(architecture, stored, "test"), options)
    (target / "model.onnx").write_bytes(model.SerializeToString())
    return onnxruntime.InferenceSession(
        str(target / "model.onnx"), providers=["CPUExecutionProvider"]
    )


@pytest.fixture(scope="module", params=CONFIGS)
def model(request, tmp_path_factory):
    torch.manual_seed(7)
    reference = transformers.AutoModelForCausalLM.from_config(
        CONFIGS[request.param], dtype=torch.float32, attn_implementation="eager"
    ).eval()
    with torch.no_grad():
        for name, parameter in reference.named_parameters():
            # Untrained norms are all ones and biases all zeros: mistakes there would not show.
            mean = 1.0 if "norm" in name else 0.0
            parameter.normal_(mean, 0.3 if parameter.ndim == 1 else 0.15)
    folder = tmp_path_factory.mktemp(request.param)
    reference.save_pretrained(folder)
    return Model(reference, folder, {})


def empty_cache(session, batch, dtype=np.float32):
    return {
        value.name: np.zeros((batch, value.shape[1], 0, value.shape[3]), dtype)
        for value in session.get_inputs()
        if value.name.startswith("past")
    }


def feed(session, ids, mask, positions, cache):
    """Logits and the cache for the next call."""
    inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions, **cache}
    names = [output.name for output in session.get_outputs()]
    values = dict(zip(names, session.run(names, inputs), strict=True))
    logits = values.pop("logits")
    return logits, {
        name.replace("present", "past_key_values"): value for name, value in values.items()
    }


def padded_batch():
    """Two rows of 12 tokens, the second with 4 of padding on the left."""
    ids = np.random.default_rng(1).integers(0, VOCABULARY, (2, 12))
    mask = np.ones((2, 12), np.int64)
    mask[1, :4] = 0
    positions = np.maximum(mask.cumsum(1) - 1, 0)
    return ids, mask, positions


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return a @ b / np.sqrt((a @ a) * (b @ b))


def test_without_cache(model):
    ids, _, _ = padded_batch()
    expected = model.logits(ids, np.ones_like(ids), np.tile(np.arange(12), (2, 1)))
    (actual,) = model.session(with_past=False).run(["logits"], {"input_ids": ids})
    assert actual.shape == (2, 12, VOCABULARY)
    np.testing.assert_allclose(actual, expected, atol=2e-5)


@pytest.mark.parametrize("operator", [False, True], ids=["written-out", "operator"])
def test_left_padding(model, operator):
    ids, mask, positions = padded_batch()
    session = model.session(operator=operator)
    actual, cache = feed(session, ids, mask, positions, empty_cache(session, 2))
    expected = model.logits(ids, mask, positions)
    real = mask.astype(bool)
    np.testing.assert_allclose(actual[real], expected[real], atol=2e-5)
    # Padding rows are never read, but a NaN in them would spread through the cache.
    assert np.isfinite(actual).all()
    assert all(np.isfinite(value).all() for value in cache.values())


def test_chunked_prefill_and_decode_equal_whole_prefill(model):
    ids, mask, positions = padded_batch()
    session = model.session()
    whole, whole_cache = feed(session, ids, mask, positions, empty_cache(session, 2))
    cache, parts = empty_cache(session, 2), []
    for begin, end in ((0, 5), (5, 6), (6, 11), (11, 12)):
        part = slice(begin, end)
        logits, cache = feed(session, ids[:, part], mask[:, :end], positions[:, part], cache)
        parts.append(logits)
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, atol=2e-5)
    for name, value in whole_cache.items():
        np.testing.assert_allclose(cache[name], value, atol=2e-5)


def test_last_logits_are_those_of_the_last_position(model):
    ids, mask, positions = padded_batch()
    whole, _ = feed(model.session(), ids, mask, positions, empty_cache(model.session(), 2))
    session = model.session(last=True)
    last, _ = feed(session, ids, mask, positions, empty_cache(session, 2))
    assert last.shape == (2, 1, VOCABULARY)
    np.testing.assert_allclose(last, whole[:, -1:], atol=1e-5)


def test_float16_stays_close(model):
    ids, mask, positions = padded_batch()
    session = model.session(operator=True, dtype="float16")
    actual, _ = feed(session, ids, mask, positions, empty_cache(session, 2, np.float16))
    assert actual.dtype == np.float16
    real = mask.astype(bool)
    assert cosine(actual[real], model.logits(ids, mask, positions)[real]) > 0.9999


def test_axes_have_names(model):
    session = model.session(last=True)
    shapes = {value.name: value.shape for value in session.get_inputs()}
    heads, size = shapes["past_key_values.0.key"][1], shapes["past_key_values.0.key"][3]
    assert shapes["input_ids"] == ["batch", "sequence"]
    assert shapes["attention_mask"] == ["batch", "total_sequence"]
    assert shapes["position_ids"] == ["batch", "sequence"]
    assert shapes["past_key_values.1.value"] == ["batch", heads, "past_sequence", size]
    outputs = {value.name: value.shape for value in session.get_outputs()}
    assert outputs["logits"] == ["batch", 1, VOCABULARY]
    assert outputs["present.1.value"] == ["batch", heads, "total_sequence", size]

"""The step `export_onnx` on tiny models: equal bytes, right numbers, sound graphs."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import step_process
import torch
import transformers
from safetensors.torch import save_file

from enginewright.actions import check_graph, export_onnx
from enginewright.checkpoint.config import Config, DecoderConfig, parse_config
from enginewright.document import decode
from enginewright.errors import InputError
from enginewright.exporters.torch.attention_mask import masked_value
from enginewright.exporters.torch.export import check_task
from enginewright.exporters.torch.load_model import load_model
from enginewright.exporters.torch.spec import ExportSpec
from enginewright.hashing import FileDigest
from enginewright.onnx_model.record import read_record
from enginewright.step import ActionRequest, InputFile, run_step
from enginewright.tasks.registry import TASKS
from enginewright.tasks.text_generation.torch_module import TextGeneration

DECODER: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6,
    "vocab_size": 96,
    "dtype": "bfloat16",
    "tie_word_embeddings": True,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
}
ENCODER: dict[str, Any] = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": 32,
    "intermediate_size": 48,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 1,
    "type_vocab_size": 2,
    "vocab_size": 96,
    "dtype": "float32",
}
LLAMA: dict[str, Any] = {
    **DECODER,
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "dtype": "float32",
    "tie_word_embeddings": False,
}
MEAN_OF_LENGTH_1 = {"recipe": {"pooling": ["mean"], "normalized": True}, "problems": []}
READER = {"product": "TensorRT for RTX", "opset_min": 9, "opset_max": 23, "ir_max": 10}


def random_model(document: dict[str, Any]) -> torch.nn.Module:
    """A model with weights large enough that attention and logits are far from uniform."""
    torch.manual_seed(0)
    config = transformers.CONFIG_MAPPING[document["model_type"]].from_dict(dict(document))
    config._attn_implementation = "eager"
    model = getattr(transformers, document["architectures"][0])(config).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=0.3)
        elif name.endswith("weight"):
            torch.nn.init.uniform_(parameter, 0.5, 1.5)
    return model.to(getattr(torch, document["dtype"]))


@dataclass(frozen=True)
class Checkpoint:
    document: dict[str, Any]
    config: Path
    weights: list[Path]
    model: torch.nn.Module
    """In float32, with the values that were stored."""


def save_checkpoint(folder: Path, document: dict[str, Any], shards: int) -> Checkpoint:
    folder.mkdir()
    model = random_model(document)
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    if document.get("tie_word_embeddings"):
        del tensors["lm_head.weight"]
    names = sorted(tensors)
    paths = []
    for number in range(shards):
        paths.append(folder / f"model-0000{number + 1}-of-0000{shards}.safetensors")
        save_file({name: tensors[name] for name in names[number::shards]}, paths[-1])
    config = folder / "config.json"
    config.write_text(json.dumps(document))
    (folder / "embedding.json").write_text(json.dumps(MEAN_OF_LENGTH_1))
    return Checkpoint(document, config, paths, model.float())


def request(checkpoint: Checkpoint, **parameters: Any) -> ActionRequest:
    roles = {
        "config": [checkpoint.config],
        "weights": checkpoint.weights,
        "embedding": [checkpoint.config.with_name("embedding.json")],
    }
    inputs = {
        role: tuple(InputFile(path, FileDigest.of(path)) for path in paths)
        for role, paths in roles.items()
    }
    return ActionRequest("export_onnx", inputs, parameters)


def parameters(task: str, **changes: Any) -> dict[str, Any]:
    sound = {"task": task, "opset": 23, "dtype": "float16"}
    return {**sound, **changes}


def ask(folder: Path, task: str) -> Path:
    files = {
        "config": ["config.json"],
        "weights": sorted(p.name for p in folder.glob("model-*")),
        "embedding": ["embedding.json"],
    }
    return step_process.write_request(folder, "export_onnx", files, parameters(task))


def start_step(folder: Path, hash_seed: str, task: str) -> subprocess.Popen[str]:
    """Run the step as a build does: its own process, folder and almost empty environment."""
    ask(folder, task)
    variables = {"PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"}
    return step_process.start(folder, "-m", export_onnx.__name__, **variables)


@dataclass(frozen=True)
class Exports:
    decoder: Checkpoint
    encoder: Checkpoint
    folders: dict[str, Path]
    messages: dict[str, str]


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    root = tmp_path_factory.mktemp("exports")
    decoder = save_checkpoint(root / "decoder", DECODER, shards=2)
    again = root / "another place for it"
    save_checkpoint(again, DECODER, shards=2)
    encoder = save_checkpoint(root / "encoder", ENCODER, shards=1)
    folders = {"decoder": root / "decoder", "again": again, "encoder": root / "encoder"}
    steps = {
        "decoder": start_step(folders["decoder"], "1", "text-generation"),
        "again": start_step(folders["again"], "2", "text-generation"),
    }
    request_path = ask(encoder.config.parent, "feature-extraction")
    run_step(export_onnx.run, request_path, encoder.config.with_name("outputs"))
    ran = {name: step_process.finish(step, folders[name]) for name, step in steps.items()}
    for step in ran.values():
        assert step.code == 0, step.errors
    return Exports(decoder, encoder, folders, {name: step.errors for name, step in ran.items()})


def run_onnx(folder: Path, **inputs: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(folder / "outputs" / "model" / "model.onnx")
    return np.asarray(session.run(None, inputs)[0], np.float32)


def cosine(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(one, axis=-1) * np.linalg.norm(two, axis=-1)
    return np.asarray((one * two).sum(-1) / norms)


def graph_of(folder: Path) -> onnx.ModelProto:
    path = folder / "outputs" / "model" / "model.onnx"
    return onnx.load(path, load_external_data=False)


def test_two_processes_in_two_places_give_the_same_bytes(exports: Exports) -> None:
    def digests(folder: Path) -> dict[str, str]:
        outputs = folder / "outputs"
        return {
            path.relative_to(outputs).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(outputs.rglob("*"))
            if path.is_file()
        }

    first = digests(exports.folders["decoder"])
    assert sorted(first) == [
        "digests.json",
        "model/model.onnx",
        "model/model.onnx.data",
        "onnx.json",
        "result.json",
    ]
    assert digests(exports.folders["again"]) == first


def test_the_record_describes_the_graph(exports: Exports) -> None:
    record = json.loads((exports.folders["decoder"] / "outputs" / "onnx.json").read_text())
    assert record == {
        "format": 1,
        "opsets": {"": 23},
        "ir_version": 10,
        "external_data": ["model.onnx.data"],
        "inputs": [{"name": "input_ids", "dtype": "int64", "shape": ["batch", "sequence"]}],
        "outputs": [{"name": "logits", "dtype": "float16", "shape": ["batch", "sequence", 96]}],
    }


def test_weights_trained_in_bfloat16_and_exported_as_float16_are_warned_about(
    exports: Exports,
) -> None:
    """Public report: a Qwen2 in float16 printed only exclamation marks."""
    warnings = {
        name: json.loads((folder / "outputs" / "result.json").read_text())["warnings"]
        for name, folder in exports.folders.items()
    }
    assert "trained in bfloat16" in warnings["decoder"][0]
    assert warnings["encoder"] == []


def test_progress_is_reported(exports: Exports) -> None:
    lines = exports.messages["decoder"].splitlines()
    reports = [line for line in lines if line.startswith("export_onnx: ")]
    assert len(reports) == 3
    assert reports[1] == "export_onnx: tracing at opset 23"


@pytest.mark.parametrize(("batch", "sequence"), [(1, 1), (2, 9), (3, 64)])
def test_logits_are_those_of_transformers(exports: Exports, batch: int, sequence: int) -> None:
    tokens = np.random.default_rng(1).integers(0, 96, (batch, sequence))
    logits = run_onnx(exports.folders["decoder"], input_ids=tokens)
    with torch.no_grad():
        expected = exports.decoder.model(torch.from_numpy(tokens)).logits.numpy()
    assert logits.shape == (batch, sequence, 96)
    assert cosine(logits, expected).min() > 0.999


def sentence_embeddings(model: torch.nn.Module, ids: Any, mask: Any) -> np.ndarray:
    """Mean pooling and normalization as sentence-transformers documents them for MiniLM."""
    with torch.no_grad():
        states = model(
            input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)
        ).last_hidden_state.numpy()
    total = (states * mask[:, :, None]).sum(1)
    mean = total / mask.sum(1)[:, None]
    return np.asarray(mean / np.linalg.norm(mean, axis=1)[:, None])


@pytest.mark.parametrize("side", ["left", "right"])
def test_embeddings_of_padded_batches(exports: Exports, side: str) -> None:
    ids = np.random.default_rng(2).integers(1, 96, (3, 12))
    mask = np.ones((3, 12), np.int64)
    for row, padding in ((1, 3), (2, 11)):
        mask[row, slice(0, padding) if side == "left" else slice(12 - padding, 12)] = 0
    embeddings = run_onnx(exports.folders["encoder"], input_ids=ids, attention_mask=mask)
    expected = sentence_embeddings(exports.encoder.model, ids, mask)
    assert embeddings.shape == (3, 32)
    assert cosine(embeddings, expected).min() > 0.999
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-5)
    alone = run_onnx(exports.folders["encoder"], input_ids=ids[:1, :1], attention_mask=mask[:1, :1])
    assert alone.shape == (1, 32)


def test_padding_does_not_change_an_embedding(exports: Exports) -> None:
    ids = np.random.default_rng(3).integers(1, 96, (1, 10))
    mask = np.array([[1] * 6 + [0] * 4])
    folder = exports.folders["encoder"]
    padded = run_onnx(folder, input_ids=ids, attention_mask=mask)
    alone = run_onnx(folder, input_ids=ids[:, :6], attention_mask=mask[:, :6])
    np.testing.assert_allclose(padded, alone, atol=2e-3)


def test_a_row_that_is_all_padding_gives_zeros_and_no_nan(exports: Exports) -> None:
    """Public report: the least float16 plus a score is minus infinity, and softmax gives NaN."""
    ids = np.ones((2, 5), np.int64)
    mask = np.array([[1] * 5, [0] * 5])
    embeddings = run_onnx(exports.folders["encoder"], input_ids=ids, attention_mask=mask)
    assert np.isfinite(embeddings).all()
    assert np.abs(embeddings[1]).max() == 0


def test_the_mask_leaves_room_for_scores() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        masked = torch.tensor(masked_value(dtype), dtype=dtype)
        assert torch.isfinite(masked - 30000)
        assert torch.exp(masked.float() + 30000) == 0


def test_graphs_hold_nothing_of_the_host_and_no_tensor_twice(exports: Exports) -> None:
    for name in ("decoder", "encoder"):
        proto = graph_of(exports.folders[name])
        content = proto.SerializeToString()
        for trace in (b"site-packages", b"/tmp", b"0x7f", b"transformers", b"pkg.torch", b".py"):
            assert trace not in content, trace
        assert (proto.producer_name, proto.producer_version) == ("enginewright", "")
        assert len(proto.functions) == 0
        used = {value for node in proto.graph.node for value in node.input}
        assert {tensor.name for tensor in proto.graph.initializer} <= used


def test_initializers_have_the_names_of_the_checkpoint(exports: Exports) -> None:
    proto = graph_of(exports.folders["decoder"])
    large = {
        tensor.name: list(tensor.dims)
        for tensor in proto.graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }
    layer = "model.layers.0"
    assert large == {
        "lm_head.weight": [96, 32],
        f"{layer}.self_attn.q_proj.weight.transposed": [32, 32],
        f"{layer}.self_attn.o_proj.weight.transposed": [32, 32],
        f"{layer}.mlp.gate_proj.weight.transposed": [32, 48],
        f"{layer}.mlp.up_proj.weight.transposed": [32, 48],
        f"{layer}.mlp.down_proj.weight.transposed": [48, 32],
        # 1024 bytes stay inline: k_proj and v_proj.
    }


def checks_of(folder: Path, axes: Any, dtype: str) -> dict[str, Any]:
    path = folder / "outputs" / "model" / "model.onnx"
    record = folder / "outputs" / "onnx.json"
    inputs = {
        "model": (InputFile(path, FileDigest.of(path)),),
        "record": (InputFile(record, FileDigest.of(record)),),
    }
    given = {"dynamic_axes": axes, "dtype": dtype, "reader": READER, "length": 1 << 20}
    return dict(check_graph.run(ActionRequest("check_graph", inputs, given), folder))


def test_exported_graphs_pass_every_check(exports: Exports) -> None:
    both = {"0": "batch", "1": "sequence"}
    decoder = {"input_ids": both, "logits": both}
    encoder = {"input_ids": both, "attention_mask": both, "embeddings": {"0": "batch"}}
    for name, axes in (("decoder", decoder), ("encoder", encoder)):
        result = checks_of(exports.folders[name], axes, "float16")
        assert result["warnings"] == []
        assert len(result["checks"]) == 16


def test_an_old_opset(tmp_path: Path) -> None:
    """Without the norm operators of opset 23 the squares must still be float32."""
    checkpoint = save_checkpoint(tmp_path / "llama", LLAMA, shards=1)
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    given = parameters("text-generation", opset=18)
    result = export_onnx.run(request(checkpoint, **given), outputs)
    assert read_record(outputs / "onnx.json").inputs[0].shape == ("batch", "sequence")
    assert result["warnings"] == []
    both = {"0": "batch", "1": "sequence"}
    axes = {"input_ids": both, "logits": both}
    assert checks_of(tmp_path, axes, "float16")["warnings"] == []
    operators = {node.op_type for node in graph_of(tmp_path).graph.node}
    assert "Pow" in operators
    assert not operators & {"RMSNormalization", "Attention"}
    tokens = np.random.default_rng(4).integers(0, 96, (2, 11))
    with torch.no_grad():
        expected = checkpoint.model(torch.from_numpy(tokens)).logits.numpy()
    assert cosine(run_onnx(tmp_path, input_ids=tokens), expected).min() > 0.999


# --- without an export --------------------------------------------------------------------------


def config_of(document: dict[str, Any]) -> Config:
    return parse_config(document, "config.json")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(
            {
                "architectures": ["MistralForCausalLM"],
                "model_type": "mistral",
                "sliding_window": 4,
            },
            id="mistral-every-layer",
        ),
        pytest.param(
            {
                "num_hidden_layers": 2,
                "use_sliding_window": True,
                "sliding_window": 4,
                "max_window_layers": 1,
            },
            id="qwen3-some-layers",
        ),
        pytest.param(
            {
                "architectures": ["Qwen2ForCausalLM"],
                "model_type": "qwen2",
                "rope_parameters": {"rope_theta": 500.0, "rope_type": "linear", "factor": 2.0},
            },
            id="qwen2-scaled-rope",
        ),
    ],
)
def test_masks_are_those_of_transformers(changes: dict[str, Any]) -> None:
    document = {**DECODER, "dtype": "float32", **changes}
    model = random_model(document)
    config = config_of(document)
    assert isinstance(config, DecoderConfig)
    tokens = torch.randint(0, 96, (2, 13), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        expected = model(tokens).logits
        torch.testing.assert_close(TextGeneration(model, config)(tokens), expected)


def errors_of(action: Any) -> str:
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value)


def test_a_task_that_the_model_cannot_do() -> None:
    for document, task in ((DECODER, "text-classification"), (ENCODER, "text-generation")):
        text = errors_of(lambda d=document, t=task: check_task(config_of(d), TASKS[t]))
        assert f"a checkpoint of this architecture cannot be exported for {task}" in text
        assert document["architectures"][0] in text
    text = errors_of(lambda: check_task(config_of(DECODER), TASKS["text-generation-with-past"]))
    assert "torch traces no KV cache" in text
    check_task(config_of(ENCODER), TASKS["feature-extraction"])
    check_task(config_of(DECODER), TASKS["text-generation"])


@pytest.mark.parametrize("kind", ["dynamic", "longrope", "made_up"])
def test_a_rope_scaling_that_cannot_be_exported(kind: str) -> None:
    document = {**DECODER, "rope_parameters": {"rope_type": kind, "factor": 2.0}}
    text = errors_of(lambda: check_task(config_of(document), TASKS["text-generation"]))
    assert "expected: default, linear, llama3, yarn" in text
    assert f"actual:   {kind}" in text


def test_changed_weights_are_noticed(tmp_path: Path) -> None:
    checkpoint = save_checkpoint(tmp_path / "a", ENCODER, shards=1)
    promised = request(checkpoint, **parameters("feature-extraction"))
    content = checkpoint.weights[0].read_bytes()
    checkpoint.weights[0].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    text = errors_of(lambda: export_onnx.run(promised, tmp_path))
    assert "differs from the one that was promised" in text


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    checkpoint = save_checkpoint(tmp_path / "a", ENCODER, shards=1)
    tensors = dict(checkpoint.model.state_dict())
    config = config_of(ENCODER)

    def errors(changed: dict[str, torch.Tensor], dtype: str = "float16") -> str:
        save_file({n: t.clone() for n, t in changed.items()}, checkpoint.weights[0])
        return errors_of(lambda: load_model(config, ENCODER, checkpoint.weights, dtype))

    name = "encoder.layer.0.output.dense.bias"
    text = errors({n: t for n, t in tensors.items() if n != name} | {"more": torch.ones(1)})
    assert f"missing_keys\n  where:    tensor `{name}`" in text
    assert "unexpected_keys\n  where:    tensor `more`" in text
    text = errors({**tensors, name: torch.full((32,), 7e4)})
    assert "a weight is beyond the range of the export's dtype" in text
    assert "actual:   70000" in text
    assert checkpoint.weights[0].name in text
    text = errors({**tensors, name: torch.full((32,), float("nan"))}, "float32")
    assert "the weights hold NaN or infinity" in text


def test_an_architecture_that_is_not_known() -> None:
    document = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}
    text = errors_of(lambda: check_task(config_of(document), TASKS["text-generation"]))
    assert "Qwen3ForCausalLM" in text
    assert "`GPT2LMHeadModel`" in text


def test_a_quantized_checkpoint() -> None:
    document = {**DECODER, "quantization_config": {"quant_method": "gptq"}}
    text = errors_of(lambda: check_task(config_of(document), TASKS["text-generation"]))
    assert "a quantized checkpoint cannot be exported" in text


def test_a_config_that_the_library_refuses(tmp_path: Path) -> None:
    checkpoint = save_checkpoint(tmp_path / "a", ENCODER, shards=1)
    document = {**ENCODER, "hidden_act": "wiggle"}
    text = errors_of(
        lambda: load_model(config_of(document), document, checkpoint.weights, "float32")
    )
    assert "cannot build a model from the config" in text
    assert "wiggle" in text


def test_a_pointer_instead_of_weights(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_text("version https://git-lfs.github.com/spec/v1\nsize 1\n")
    text = errors_of(lambda: load_model(config_of(DECODER), DECODER, [path], "float32"))
    assert "Git LFS pointer" in text


def test_the_spec_of_the_tests_is_sound() -> None:
    assert decode(ExportSpec, parameters("text-generation"), "p").opset == 23

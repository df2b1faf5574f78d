"""The step `verify_checkpoint` on small checkpoints, sound and broken."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest

from enginewright.actions.verify_checkpoint import run
from enginewright.checkpoint.config import parse_config
from enginewright.checkpoint.tensor_layout import expected_tensors
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.step import ActionRequest, InputFile

Tensors = dict[str, tuple[str, tuple[int, ...]]]
SIZES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8}

QWEN3: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "max_position_embeddings": 16,
    "rms_norm_eps": 1e-6,
    "vocab_size": 10,
    "dtype": "float16",
    "eos_token_id": 0,
    "tie_word_embeddings": True,
}
TENSORS: Tensors = {
    "model.embed_tokens.weight": ("F16", (10, 8)),
    "model.layers.0.input_layernorm.weight": ("F16", (8,)),
    "model.layers.0.mlp.down_proj.weight": ("F16", (8, 12)),
    "model.layers.0.mlp.gate_proj.weight": ("F16", (12, 8)),
    "model.layers.0.mlp.up_proj.weight": ("F16", (12, 8)),
    "model.layers.0.post_attention_layernorm.weight": ("F16", (8,)),
    "model.layers.0.self_attn.k_norm.weight": ("F16", (4,)),
    "model.layers.0.self_attn.k_proj.weight": ("F16", (4, 8)),
    "model.layers.0.self_attn.o_proj.weight": ("F16", (8, 8)),
    "model.layers.0.self_attn.q_norm.weight": ("F16", (4,)),
    "model.layers.0.self_attn.q_proj.weight": ("F16", (8, 8)),
    "model.layers.0.self_attn.v_proj.weight": ("F16", (4, 8)),
    "model.norm.weight": ("F16", (8,)),
}


def write_weights(path: Path, tensors: Tensors) -> Path:
    header, offset = {}, 0
    for name, (dtype, shape) in tensors.items():
        end = offset + SIZES[dtype] * prod(shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(offset))
    return path


class Checkpoint:
    """A checkpoint in a folder, to be changed by a test."""

    def __init__(self, folder: Path, config: dict[str, Any], tensors: Tensors) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.config = folder / "config.json"
        self.config.write_text(json.dumps(config))
        self.weights = [write_weights(folder / "model.safetensors", tensors)]
        self.tokenizer: list[Path] = []

    def run(self) -> tuple[dict[str, Any], Path]:
        roles = {
            "config": [self.config],
            "weights": self.weights,
            "tokenizer": self.tokenizer,
        }
        inputs = {
            role: tuple(InputFile(path, FileDigest("0" * 64, 0)) for path in paths)
            for role, paths in roles.items()
        }
        outputs = self.folder / "outputs"
        outputs.mkdir(exist_ok=True)
        return dict(run(ActionRequest("verify_checkpoint", inputs, {}), outputs)), outputs

    def errors(self) -> str:
        with pytest.raises(InputError) as caught:
            self.run()
        return str(caught.value)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "checkpoint", QWEN3, TENSORS)


def test_a_sound_checkpoint(checkpoint: Checkpoint) -> None:
    result, outputs = checkpoint.run()
    parameters = 592  # 80 + 8 + 96 * 3 + 8 + 4 + 32 + 64 + 4 + 64 + 32 + 8
    assert result == {
        "warnings": [],
        "summary": {
            "architecture": "Qwen3ForCausalLM",
            "dtype": "float16",
            "generation": {"stop": [0], "begin": []},
            "kind": "decoder",
            "length": {"tokens": 16, "source": "max_position_embeddings"},
            "model_type": "qwen3",
            "parameters": parameters,
            "tasks": ["feature-extraction", "text-generation", "text-generation-with-past"],
            "tensors": 13,
        },
    }
    descriptor = json.loads((outputs / "checkpoint.json").read_text())
    assert descriptor["format_version"] == 1
    assert descriptor["parameters"] == parameters
    assert [tensor["name"] for tensor in descriptor["tensors"]] == sorted(TENSORS)
    size = checkpoint.weights[0].stat().st_size
    assert descriptor["tensors"][-1] == {
        "name": "model.norm.weight",
        "dtype": "F16",
        "shape": [8],
        "file": "model.safetensors",
        "begin": size - 16,
        "end": size,
    }
    assert sorted(path.name for path in outputs.iterdir()) == [
        "checkpoint.json",
        "config.json",
        "embedding.json",
        "serving.json",
    ]


def test_white_space_and_dropped_fields_leave_the_outputs_as_they_are(tmp_path: Path) -> None:
    first = Checkpoint(tmp_path / "a", QWEN3, TENSORS)
    second = Checkpoint(tmp_path / "b", QWEN3, TENSORS)
    noise = {
        "_name_or_path": "/somewhere",
        "transformers_version": "9",
        "use_cache": False,
        "initializer_range": 0.5,
        "attention_dropout": 0.1,
        "auto_map": {"AutoModel": "code.Model"},
    }
    reordered = dict(reversed([*QWEN3.items(), *noise.items()]))
    second.config.write_text(json.dumps(reordered, indent=7))
    (first_result, one), (second_result, two) = first.run(), second.run()
    assert first_result == second_result
    for name in ("config.json", "checkpoint.json", "embedding.json", "serving.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_a_field_that_nobody_knows_is_kept(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "a", {**QWEN3, "new_option": 3}, TENSORS)
    _, outputs = checkpoint.run()
    assert json.loads((outputs / "config.json").read_text())["new_option"] == 3


def test_only_headers_are_read(checkpoint: Checkpoint) -> None:
    _, outputs = checkpoint.run()
    before = (outputs / "checkpoint.json").read_bytes()
    path = checkpoint.weights[0]
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\x7f")
    _, outputs = checkpoint.run()
    assert (outputs / "checkpoint.json").read_bytes() == before


def test_wrong_shape_no_dtype_missing_and_unknown_tensors_at_once(tmp_path: Path) -> None:
    tensors = {
        **TENSORS,
        "model.norm.weight": ("F16", (9,)),
        "model.embed_tokens.weight": ("I64", (10, 8)),
        "model.layers.7.input_layernorm.weight": ("F16", (8,)),
    }
    del tensors["model.layers.0.mlp.up_proj.weight"]
    text = Checkpoint(tmp_path / "a", QWEN3, tensors).errors()
    assert "a tensor has another shape than config.json implies" in text
    assert "model.safetensors, tensor `model.norm.weight`, `shape`" in text
    assert "expected: [8]\n  actual:   [9]" in text
    assert "model.safetensors, tensor `model.embed_tokens.weight`, `dtype`" in text
    assert "expected: BF16, F16, F32, F64\n  actual:   I64" in text
    assert "the weights lack a tensor" in text
    assert "tensor `model.layers.0.mlp.up_proj.weight`" in text
    assert "the weights have a tensor that the config does not imply" in text
    assert "tensor `model.layers.7.input_layernorm.weight`" in text


def test_tied_embeddings(tmp_path: Path) -> None:
    both = {**TENSORS, "lm_head.weight": ("F16", (10, 8))}
    Checkpoint(tmp_path / "a", QWEN3, both).run()
    untied = {**QWEN3, "tie_word_embeddings": False}
    Checkpoint(tmp_path / "b", untied, both).run()
    assert "`lm_head.weight`" in Checkpoint(tmp_path / "c", untied, TENSORS).errors()
    wrong = {**TENSORS, "lm_head.weight": ("F16", (11, 8))}
    assert "`lm_head.weight`, `shape`" in Checkpoint(tmp_path / "d", QWEN3, wrong).errors()


def test_an_unknown_architecture_is_a_warning(tmp_path: Path) -> None:
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}
    result, _ = Checkpoint(tmp_path / "a", config, {"wte.weight": ("F32", (3, 2))}).run()
    assert result["summary"]["parameters"] == 6
    assert result["warnings"] == [
        "shapes and names of the tensors were not checked against config.json: "
        "the architecture is not a known one (`GPT2LMHeadModel`)"
    ]


@pytest.mark.parametrize("wish", ["float16", "float32", "bfloat16", "auto", None])
def test_row_e12_the_dtype_of_the_config_is_a_wish(tmp_path: Path, wish: str | None) -> None:
    tensors: Tensors = {**TENSORS, "model.norm.weight": ("F32", (8,))}
    result, _ = Checkpoint(tmp_path / "a", {**QWEN3, "dtype": wish}, tensors).run()
    assert result["warnings"] == ["the weights mix dtypes: F16, F32"]
    assert result["summary"]["dtype"] == "float16"


def test_row_e12_another_dtype_than_the_wish_is_a_warning(tmp_path: Path) -> None:
    config = {**QWEN3, "dtype": None, "torch_dtype": "bfloat16"}
    result, _ = Checkpoint(tmp_path / "a", config, TENSORS).run()
    assert result["warnings"] == ["`dtype` of config.json says bfloat16, the weights are F16"]


def test_row_e13_an_infinity_is_carried_as_transformers_writes_it(tmp_path: Path) -> None:
    config = {
        "architectures": ["NemotronHForCausalLM"],
        "model_type": "nemotron_h",
        "time_step_limit": [0.0, float("inf")],
        "nested": {"least": float("-inf"), "none": float("nan")},
    }
    _, outputs = Checkpoint(tmp_path / "a", config, {"w": ("F32", (1,))}).run()
    written = json.loads((outputs / "config.json").read_text())
    assert written["time_step_limit"] == [0.0, {"__float__": "Infinity"}]
    assert written["nested"] == {
        "least": {"__float__": "-Infinity"},
        "none": {"__float__": "NaN"},
    }


def without_prefix(tensors: Tensors) -> Tensors:
    return {name.removeprefix("model."): value for name, value in tensors.items()}


def test_row_e9_names_without_the_prefix_are_those_of_the_class(tmp_path: Path) -> None:
    plain = Checkpoint(tmp_path / "a", QWEN3, TENSORS)
    bare = Checkpoint(tmp_path / "b", QWEN3, without_prefix(TENSORS))
    (_, one), (result, two) = plain.run(), bare.run()
    assert result["warnings"] == []
    names = [
        [tensor["name"] for tensor in json.loads((out / "checkpoint.json").read_text())["tensors"]]
        for out in (one, two)
    ]
    assert names[0] == names[1] == sorted(TENSORS)


def test_names_with_the_prefix_under_a_class_without_a_head(tmp_path: Path) -> None:
    config = {**QWEN3, "architectures": ["Qwen3Model"]}
    result, _ = Checkpoint(tmp_path / "a", config, TENSORS).run()
    assert result["summary"]["tensors"] == 13


def test_a_tensor_by_both_names_is_refused(tmp_path: Path) -> None:
    both: Tensors = {**TENSORS, "norm.weight": ("F16", (8,))}
    text = Checkpoint(tmp_path / "a", QWEN3, both).errors()
    assert "a tensor is there by two names" in text
    assert "tensor `model.norm.weight` and tensor `norm.weight`" in text


def test_row_e9_another_prefix_is_one_message(tmp_path: Path) -> None:
    tensors = {f"language_model.{name}": value for name, value in TENSORS.items()}
    text = Checkpoint(tmp_path / "a", QWEN3, tensors).errors()
    assert "the names of the tensors have another prefix than those of the architecture" in text
    assert "13 names with `language_model.` before them" in text
    assert text.count("where:") == 1


def test_row_e1_tied_the_other_way_round(tmp_path: Path) -> None:
    tensors = {**TENSORS, "lm_head.weight": TENSORS["model.embed_tokens.weight"]}
    del tensors["model.embed_tokens.weight"]
    assert Checkpoint(tmp_path / "a", QWEN3, tensors).run()[0]["summary"]["tensors"] == 13


def test_row_e7_modules_json_is_a_list_by_design(checkpoint: Checkpoint) -> None:
    path = checkpoint.folder / "modules.json"
    path.write_text('[{"path": "", "type": "sentence_transformers.models.Transformer"}]')
    checkpoint.tokenizer = [path]
    assert checkpoint.run()[0]["warnings"] == []
    path.write_text("{}")
    assert "not a JSON list" in checkpoint.errors()


def test_row_e24_an_index_may_name_the_tied_head(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "a", QWEN3, TENSORS)
    index = checkpoint.folder / "model.safetensors.index.json"
    places = dict.fromkeys([*TENSORS, "lm_head.weight"], "model.safetensors")
    index.write_text(json.dumps({"weight_map": places}))
    checkpoint.weights.append(index)
    assert checkpoint.run()[0]["warnings"] == [
        "model.safetensors.index.json names tensor `lm_head.weight`, which no file has and the "
        "config does not need"
    ]


def test_row_e24_biases_that_the_family_does_not_have(tmp_path: Path) -> None:
    config = {
        **QWEN3,
        "architectures": ["MistralForCausalLM"],
        "model_type": "mistral",
        "attention_bias": True,
        "sliding_window": None,
    }
    tensors = {n: v for n, v in TENSORS.items() if "q_norm" not in n and "k_norm" not in n}
    result, _ = Checkpoint(tmp_path / "a", config, tensors).run()
    assert result["warnings"] == [
        "`attention_bias` of config.json is true: not read for `mistral`, the family has no "
        "biases; stored ones are refused as tensors that do not belong"
    ]


def test_buffers_of_old_versions_are_tolerated(tmp_path: Path) -> None:
    tensors: Tensors = {
        **TENSORS,
        "model.layers.0.self_attn.rotary_emb.inv_freq": ("F32", (2,)),
    }
    result, _ = Checkpoint(tmp_path / "a", QWEN3, tensors).run()
    assert result["summary"]["parameters"] == 592


def shard(checkpoint: Checkpoint, **index: str) -> None:
    """Split the weights in two files with an index, to which `index` adds or changes entries."""
    names = list(TENSORS)
    files = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    checkpoint.weights[0].unlink()
    checkpoint.weights = [
        write_weights(checkpoint.folder / file, {name: TENSORS[name] for name in part})
        for file, part in zip(files, (names[:6], names[6:]), strict=True)
    ]
    weight_map = {name: files[position >= 6] for position, name in enumerate(names)}
    path = checkpoint.folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {**weight_map, **index}}))
    checkpoint.weights.append(path)


def test_sharded_weights(checkpoint: Checkpoint) -> None:
    shard(checkpoint)
    result, outputs = checkpoint.run()
    assert result["summary"]["tensors"] == 13
    tensors = json.loads((outputs / "checkpoint.json").read_text())["tensors"]
    assert tensors[-1]["file"] == "model-00002-of-00002.safetensors"
    checkpoint.weights.pop()
    assert checkpoint.run()[0] == result


def test_a_shard_missing_from_disk(checkpoint: Checkpoint) -> None:
    shard(checkpoint)
    del checkpoint.weights[1]
    text = checkpoint.errors()
    assert "a shard of the index is missing" in text
    assert "index.json, `model-00002-of-00002.safetensors`" in text
    assert "lack a tensor" not in text
    del checkpoint.weights[1]
    assert "a shard is missing\n  where:    model-00002-of-00002.safetensors" in checkpoint.errors()


def test_a_shard_missing_from_the_index(checkpoint: Checkpoint) -> None:
    shard(checkpoint)
    extra = write_weights(checkpoint.folder / "extra.safetensors", {"x": ("F16", (1,))})
    checkpoint.weights.append(extra)
    text = checkpoint.errors()
    assert "the index does not mention a weights file" in text
    assert "expected: `extra.safetensors`" in text


def test_index_and_shards_disagree_about_a_tensor(checkpoint: Checkpoint) -> None:
    shard(checkpoint, **{"model.norm.weight": "model-00001-of-00002.safetensors", "ghost": "x"})
    text = checkpoint.errors()
    assert "the index promises a tensor that its shard does not hold" in text
    assert "a shard holds a tensor that the index does not place there" in text
    assert "a shard of the index is missing" in text


def test_a_tensor_in_two_shards(checkpoint: Checkpoint) -> None:
    shard(checkpoint)
    path = checkpoint.weights[0]
    names = list(TENSORS)[:7]
    write_weights(path, {name: TENSORS[name] for name in names})
    text = checkpoint.errors()
    assert "a tensor is in two files" in text
    assert f"tensor `{names[6]}`" in text


def test_broken_files_of_all_kinds_are_reported_together(checkpoint: Checkpoint) -> None:
    shard(checkpoint)
    checkpoint.weights[0].write_bytes(b"version https://git-lfs.github.com/spec/v1\nsize 1\n")
    checkpoint.weights[1].write_bytes(b"\x00")
    checkpoint.weights[2].write_text("{}")
    tokenizer = checkpoint.folder / "tokenizer.json"
    tokenizer.write_text("{")
    checkpoint.tokenizer = [tokenizer]
    text = checkpoint.errors()
    assert "Git LFS pointer, not weights" in text
    assert "the file is truncated" in text
    assert "not an index of sharded weights" in text
    assert f"{tokenizer}, line 1" in text
    assert "lack a tensor" not in text


def test_row_e24_files_that_are_no_weights(checkpoint: Checkpoint) -> None:
    path = checkpoint.folder / "pytorch_model.bin"
    path.write_bytes(b"PK")
    checkpoint.weights.append(path)
    assert "a name that ends in `.safetensors` or `.index.json`" in checkpoint.errors()
    checkpoint.weights = []
    assert "the checkpoint has no weights" in checkpoint.errors()
    assert "import Qwen3ForCausalLM as M" in checkpoint.errors()


def test_row_e16_the_tokenizer_is_checked(checkpoint: Checkpoint) -> None:
    path = checkpoint.folder / "tokenizer.json"
    checkpoint.tokenizer = [path]
    path.write_text(
        json.dumps({"model": {"vocab": {"a": 9}}, "added_tokens": [{"id": 10, "content": "<x>"}]})
    )
    result, _ = checkpoint.run()
    assert result["warnings"] == [
        "tokenizer.json has token ids up to 10 (`<x>`), the model's vocabulary ends at 9: a text "
        "with such a token is refused"
    ]
    path.write_text("{}")
    assert "not a tokenizer of the tokenizers library" in checkpoint.errors()
    path.write_text("version https://git-lfs.github.com/spec/v1\nsize 1\n")
    assert "Git LFS pointer, not a tokenizer" in checkpoint.errors()


@pytest.mark.parametrize(
    ("family", "class_name", "extra", "sample"),
    [
        ("qwen2", "Qwen2ForCausalLM", {}, {"model.layers.0.self_attn.k_proj.bias": (4,)}),
        ("llama", "LlamaModel", {"mlp_bias": True}, {"layers.0.mlp.up_proj.bias": (12,)}),
        ("mistral", "MistralForCausalLM", {}, {"lm_head.weight": (10, 8)}),
    ],
)
def test_tensors_of_the_other_decoders(
    family: str, class_name: str, extra: dict[str, Any], sample: dict[str, tuple[int, ...]]
) -> None:
    document = {**QWEN3, "model_type": family, "architectures": [class_name], **extra}
    layout = expected_tensors(parse_config(document, "config.json"))
    assert layout is not None
    names = {**layout.required, **layout.optional}
    assert {name: names[name] for name in sample} == sample
    assert not any("q_norm" in name for name in names)
    assert ("lm_head.weight" in names) == class_name.endswith("ForCausalLM")


def test_a_bert_checkpoint(tmp_path: Path) -> None:
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": 4,
        "intermediate_size": 6,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 5,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "type_vocab_size": 2,
        "vocab_size": 7,
    }
    layer = "encoder.layer.0"
    linear = {
        f"{layer}.attention.self.query": (4, 4),
        f"{layer}.attention.self.key": (4, 4),
        f"{layer}.attention.self.value": (4, 4),
        f"{layer}.attention.output.dense": (4, 4),
        f"{layer}.intermediate.dense": (6, 4),
        f"{layer}.output.dense": (4, 6),
    }
    norms = ("embeddings", f"{layer}.attention.output", f"{layer}.output")
    tensors: Tensors = {
        "embeddings.position_ids": ("I64", (1, 5)),
        "embeddings.word_embeddings.weight": ("F32", (7, 4)),
        "embeddings.position_embeddings.weight": ("F32", (5, 4)),
        "embeddings.token_type_embeddings.weight": ("F32", (2, 4)),
        **{f"{name}.weight": ("F32", shape) for name, shape in linear.items()},
        **{f"{name}.bias": ("F32", shape[:1]) for name, shape in linear.items()},
        **{
            f"{name}.LayerNorm.{part}": ("F32", (4,))
            for name in norms
            for part in ("weight", "bias")
        },
    }
    result, _ = Checkpoint(tmp_path / "a", config, tensors).run()
    assert result["warnings"] == []
    assert result["summary"]["dtype"] == "float32"
    del tensors[f"{layer}.output.dense.bias"]
    assert f"`{layer}.output.dense.bias`" in Checkpoint(tmp_path / "b", config, tensors).errors()

"""Bytes of weights, from headers only."""

import json
import struct

import pytest

from enginewright.errors import InputError
from enginewright.memory.weights import loaded_weights, read_stored


def read_weights(folder, dtype, layers=2, **options):
    return loaded_weights(read_stored(folder), dtype, layers, **options)


def write(path, tensors: dict[str, tuple[str, list[int], int]]) -> None:
    """A sparse safetensors file: a real header, and data that nobody writes."""
    header, offset = {}, 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        stream.truncate(8 + len(text) + offset)


def test_matrices_are_shared_and_vectors_repeated(tmp_path):
    tensors = {"w": ("BF16", [100, 10], 2000), "norm": ("BF16", [10], 20)}
    write(tmp_path / "model.safetensors", tensors)
    weights = read_weights(tmp_path, "bfloat16")
    assert (weights.shared, weights.repeated) == (2000, 20)
    assert weights.on_one(3) == 667 + 20


def test_float32_is_loaded_in_half_and_quantized_stays(tmp_path):
    write(tmp_path / "a.safetensors", {"w": ("F32", [10, 10], 400), "q": ("I8", [10, 10], 100)})
    assert read_weights(tmp_path, "float16").shared == 200 + 100


def test_row_37_a_sparse_file_of_2_3_gb_is_sized_without_reading_it(tmp_path):
    size = 2_300_000_000
    write(tmp_path / "model.safetensors", {"w": ("F16", [1_150_000, 1000], size)})
    assert read_weights(tmp_path, "float16").shared == size


def test_row_14_a_pointer_file_is_no_weights(tmp_path):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n"
    (tmp_path / "model.safetensors").write_text(pointer, encoding="utf-8")
    with pytest.raises(InputError, match="git lfs pull"):
        read_weights(tmp_path, "float16")


def test_a_missing_shard_is_named(tmp_path):
    write(tmp_path / "model-00001-of-00002.safetensors", {"a": ("F16", [2, 2], 8)})
    index = {
        "weight_map": {
            "a": "model-00001-of-00002.safetensors",
            "b": "model-00002-of-00002.safetensors",
        }
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(InputError, match="model-00002-of-00002"):
        read_weights(tmp_path, "float16")


def test_an_empty_folder(tmp_path):
    with pytest.raises(InputError, match="no weights"):
        read_weights(tmp_path, "float16")


W = {"model.layers.0.w": ("BF16", [100, 10], 2000)}


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ("consolidated.safetensors", "a copy of the weights in their original layout"),
        ("adapter_model.safetensors", "an adapter"),
        ("model.fp16.safetensors", "`model.safetensors` is the whole model"),
    ],
)
def test_row_s18_files_beside_the_model_are_named_and_not_counted(tmp_path, extra, why):
    write(tmp_path / "model.safetensors", W)
    write(tmp_path / extra, W)
    weights = read_weights(tmp_path, "bfloat16")
    assert weights.shared == 2000
    (skipped,) = weights.skipped
    assert (skipped.name, skipped.why) == (extra, why)


def test_row_s18_a_copy_beside_shards_with_and_without_an_index(tmp_path):
    for number in (1, 2):
        tensors = {f"model.layers.{number - 1}.w": ("BF16", [100, 10], 2000)}
        write(tmp_path / f"model-0000{number}-of-00002.safetensors", tensors)
    write(tmp_path / "consolidated.safetensors", W)
    assert read_weights(tmp_path, "bfloat16").shared == 4000
    files = {f"model.layers.{n}.w": f"model-0000{n + 1}-of-00002.safetensors" for n in (0, 1)}
    index = json.dumps({"weight_map": files})
    (tmp_path / "model.safetensors.index.json").write_text(index, encoding="utf-8")
    weights = read_weights(tmp_path, "bfloat16")
    assert weights.shared == 4000
    assert [item.name for item in weights.skipped] == ["consolidated.safetensors"]


def test_row_s18_the_original_layout_alone_is_the_model(tmp_path):
    write(tmp_path / "consolidated.safetensors", {"layers.0.wq": ("BF16", [100, 10], 2000)})
    assert read_weights(tmp_path, "bfloat16").shared == 2000


def test_row_s18_an_adapter_alone_is_no_model(tmp_path):
    write(tmp_path / "adapter_model.safetensors", W)
    with pytest.raises(InputError, match="an adapter, not a model"):
        read_weights(tmp_path, "bfloat16")


def test_a_shard_that_is_missing_by_its_number(tmp_path):
    write(tmp_path / "model-00001-of-00002.safetensors", W)
    with pytest.raises(InputError, match="model-00002-of-00002"):
        read_weights(tmp_path, "bfloat16")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("model.layers.2.mlp.w", "layer 2"),
        ("language_model.model.layers.3.mlp.w", "layer 3"),
        ("mtp.layers.0.mlp.w", "mtp"),
        ("model.mtp.fc.weight", "model.mtp"),
    ],
)
def test_row_s16_layers_that_draft_tokens_are_not_loaded_unless_asked(tmp_path, name, part):
    write(tmp_path / "model.safetensors", {**W, name: ("BF16", [100, 10], 2000)})
    weights = read_weights(tmp_path, "bfloat16")
    assert weights.shared == 2000
    assert [(item.name, item.bytes) for item in weights.skipped] == [(part, 2000)]
    assert read_weights(tmp_path, "bfloat16", speculative=True).shared == 4000


def test_row_s16_layers_of_another_tower_are_the_models_own(tmp_path):
    names = ("vision_tower.encoder.layers.20.w", "model.visual.blocks.9.w", "audio.layers.5.w")
    write(tmp_path / "model.safetensors", {name: ("BF16", [100, 10], 2000) for name in names})
    assert read_weights(tmp_path, "bfloat16").shared == 6000

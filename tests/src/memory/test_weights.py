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

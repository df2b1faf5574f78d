"""The plan of a decoder with a KV cache: the same bytes whatever the host is like."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from safetensors.numpy import save_file
from step_process import run, write_request

from enginewright import canonical_json
from enginewright.actions import export_direct, verify_checkpoint
from enginewright.hashing import FileDigest
from enginewright.onnx_model.description import describe
from enginewright.products.tensorrt import libraries
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX
from enginewright.step import ActionRequest, InputFile

LAYERS, HIDDEN, KEY_VALUE_HEADS, HEAD, VOCABULARY = 4, 64, 2, 16, 64
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": 96,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": KEY_VALUE_HEADS,
    "head_dim": HEAD,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
}
PROFILES = [
    {
        "batch": [1, 1, 4],
        "sequence": [1, 16, 128],
        "past_sequence": [0, 1, 127],
        "total_sequence": [1, 17, 255],
    },
    {
        "batch": [1, 1, 8],
        "sequence": [1, 1, 1],
        "past_sequence": [1, 64, 255],
        "total_sequence": [2, 65, 256],
    },
]
# Takes blocks at random before each section of the heap, as a host with more to tell might.
TAKER = """
import ctypes, os, random

from enginewright.products.tensorrt_rtx import build
from enginewright.step import main
from enginewright.products.tensorrt import deterministic_process

libc, align_heap = ctypes.CDLL(None), deterministic_process.align_heap
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
random.seed(int(os.environ["SEED"]))
taken = 0

def take():
    global taken
    for block in [libc.malloc(random.randrange(1, 5000)) for _ in range(random.randrange(200))]:
        taken += 1
        if random.random() < 0.7:
            libc.free(block)
    align_heap()

deterministic_process.align_heap = take
try:
    main(build.run_deterministically)
finally:
    print("taken", taken)
"""


def weights(heads: int) -> dict[str, np.ndarray[Any, np.dtype[np.float16]]]:
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN)}
    for layer in range(LAYERS):
        here = f"model.layers.{layer}"
        shapes |= {
            f"{here}.input_layernorm.weight": (HIDDEN,),
            f"{here}.mlp.down_proj.weight": (HIDDEN, 96),
            f"{here}.mlp.gate_proj.weight": (96, HIDDEN),
            f"{here}.mlp.up_proj.weight": (96, HIDDEN),
            f"{here}.post_attention_layernorm.weight": (HIDDEN,),
            f"{here}.self_attn.k_norm.weight": (HEAD,),
            f"{here}.self_attn.k_proj.weight": (KEY_VALUE_HEADS * HEAD, HIDDEN),
            f"{here}.self_attn.o_proj.weight": (HIDDEN, heads * HEAD),
            f"{here}.self_attn.q_norm.weight": (HEAD,),
            f"{here}.self_attn.q_proj.weight": (heads * HEAD, HIDDEN),
            f"{here}.self_attn.v_proj.weight": (KEY_VALUE_HEADS * HEAD, HIDDEN),
        }
    shapes["model.norm.weight"] = (HIDDEN,)
    draw = np.random.Generator(np.random.Philox(7)).standard_normal
    return {name: draw(shape).astype(np.float16) for name, shape in shapes.items()}


def promised(path: Path) -> tuple[InputFile, ...]:
    return (InputFile(path, FileDigest.of(path)),)


def export(folder: Path, heads: int) -> Path:
    """The folder of a decoder's ONNX model."""
    canonical_json.write(folder / "config.json", {**CONFIG, "num_attention_heads": heads})
    save_file(weights(heads), folder / "model.safetensors")
    inputs = {
        "config": promised(folder / "config.json"),
        "weights": promised(folder / "model.safetensors"),
    }
    for name in ("verified", "exported"):
        (folder / name).mkdir()
    verify_checkpoint.run(ActionRequest("verify_checkpoint", inputs, {}), folder / "verified")
    inputs = {
        "config": promised(folder / "verified/config.json"),
        "descriptor": promised(folder / "verified/checkpoint.json"),
    }
    parameters = {"task": "text-generation-with-past", "opset": 23, "dtype": "float16"}
    export_direct.run(ActionRequest("export_direct", inputs, parameters), folder / "exported")
    (folder / "exported/model/model.safetensors").hardlink_to(folder / "model.safetensors")
    return folder / "exported/model"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(tmp_path_factory.mktemp("decoder"), heads=4)


def build(folder: Path, model: Path, *command: str, **variables: str) -> tuple[str, str]:
    """The plan's sha256, and what the step printed."""
    folder.mkdir(parents=True)
    for path in model.iterdir():
        (folder / path.name).hardlink_to(path)
    files = sorted(path.name for path in model.iterdir())
    TENSORRT_RTX.load()
    parameters = {
        "toolchain": {
            "product": "tensorrt-rtx",
            "version": libraries.loaded_version(TENSORRT_RTX),
            "libraries": libraries.list_libraries(TENSORRT_RTX),
        },
        "profiles": PROFILES,
        "compute_capabilities": ["8.9"],
    }
    graph = onnx.load(str(folder / "model.onnx"), load_external_data=False)
    describe(graph).write(folder)
    inputs = {"model": files, "record": ["onnx.json"]}
    write_request(folder, "build_engine", inputs, parameters)
    ran = run(folder, *(command or ("-m", "enginewright.products.tensorrt_rtx.build")), **variables)
    assert ran.code == 0, ran.errors
    return hashlib.sha256(ran.plan).hexdigest(), ran.printed


def test_paths_and_the_environment_do_not_matter(model: Path, tmp_path: Path) -> None:
    plan, _ = build(tmp_path / "a", model)
    other = build(tmp_path / ("another folder/" * 12), model, MUCH="x" * 50_000)
    assert other == (plan, "")


def test_what_the_host_makes_the_builder_take_does_not_matter(model: Path, tmp_path: Path) -> None:
    script = tmp_path / "taker.py"
    script.write_text(TAKER)
    plan, _ = build(tmp_path / "none", model)
    for seed in ("1", "2", "3"):
        other, printed = build(tmp_path / seed, model, str(script), SEED=seed)
        assert other == plan
        assert int(printed.split()[1]) > 1000


def test_attention_that_the_builder_has_no_kernel_for_is_built_from_others(tmp_path: Path) -> None:
    (tmp_path / "decoder").mkdir()
    model = export(tmp_path / "decoder", heads=2)
    assert build(tmp_path / "a", model) == build(tmp_path / "b", model)

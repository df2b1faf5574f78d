"""`products.aotinductor.build`: numbers of the compiled engine, and equal bytes from anywhere."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from step_process import Ran, run_module, write_request

from enginewright.checkpoint.config import parse_config
from enginewright.exporters.direct.decoder_architecture import read_architecture
from enginewright.products.aotinductor.decoder import FREQUENCIES, Decoder, tensor_shapes

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "hidden_act": "silu",
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "tie_word_embeddings": True,
}
H200 = {
    "name": "NVIDIA H200",
    "compute_capability": "9.0",
    "multi_processor_count": 132,
    "regs_per_multiprocessor": 65536,
    "max_threads_per_multi_processor": 2048,
    "max_threads_per_block": 1024,
    "warp_size": 32,
    "shared_memory_per_block": 49152,
    "shared_memory_per_block_optin": 232448,
    "l2_cache_size": 62914560,
    "total_memory": 150109880320,
}


def compiler_version() -> str:
    return subprocess.check_output(["g++", "-dumpfullversion"], text=True).strip()


def build(folder: Path, gpu: dict[str, Any] | None, dtype: str) -> Ran:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    parameters = {
        "task": "text-generation-with-past",
        "dtype": dtype,
        "limits": {"batch": 4, "sequence": 64, "reach": 128},
        "gpu": gpu,
        "host_compiler": {"name": "gcc", "version": compiler_version()},
        "tuning": {},
    }
    (folder / "inputs").mkdir()
    (folder / "config.json").rename(folder / "inputs/config.json")
    write_request(folder, "build", {"config": ["inputs/config.json"]}, parameters)
    return run_module(folder, "enginewright.products.aotinductor.build")


def test_the_engine_for_a_processor_computes_what_the_module_computes(tmp_path: Path):
    ran = build(tmp_path / "cpu", None, "float32")
    assert ran.code == 0, ran.errors
    engine = torch._C._aoti.AOTIModelPackageLoader(
        str(ran.outputs / "engine.pt2"), "model", True, 1, -1
    )
    config = parse_config(CONFIG, "config.json")
    architecture = read_architecture(config, "text-generation-with-past", "config.json")
    decoder = Decoder(architecture, torch.float32).eval()
    torch.manual_seed(3)
    for parameter in decoder.parameters():
        parameter.data.normal_(0, 0.5)
    constants = load_file(ran.outputs / "constants.safetensors")
    decoder.load_state_dict({**decoder.state_dict(), **constants})
    weights = {**dict(decoder.named_parameters())}
    assert set(engine.get_constant_fqns()) == set(tensor_shapes(architecture)) | {FREQUENCIES}
    engine.load_constants(weights, False, True, False)
    for batch, sequence, reach in ((1, 1, 16), (1, 40, 64), (3, 7, 32)):
        ids = torch.randint(1, 96, (batch, sequence))
        positions = torch.arange(sequence)[:, None].expand(sequence, batch).contiguous()
        keep = torch.arange(sequence)
        theirs = [torch.zeros(reach, batch, 2, 16) for _ in range(4)]
        mine = [torch.zeros(reach, batch, 2, 16) for _ in range(4)]
        with torch.no_grad():
            right = decoder(ids, positions, keep, theirs)
        logits = engine.boxed_run([ids, positions, keep, *mine])[0]
        torch.testing.assert_close(logits, right, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def test_an_engine_for_a_gpu_is_the_same_from_two_folders_and_says_what_it_is_for(tmp_path: Path):
    first = build(tmp_path / "a", H200, "bfloat16")
    second = build(tmp_path / "another folder with a longer name" / "b", H200, "bfloat16")
    assert first.code == 0, first.errors
    engine = (first.outputs / "engine.pt2").read_bytes()
    assert (second.outputs / "engine.pt2").read_bytes() == engine
    assert str(tmp_path).encode() not in engine
    with zipfile.ZipFile(first.outputs / "engine.pt2") as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("wrapper_metadata.json"))
        metadata = json.loads(archive.read(name))
    assert metadata["AOTI_DEVICE_KEY"] == "cuda"
    assert metadata["AOTI_COMPUTE_CAPABILITY"] == "90"


def test_a_compiler_of_another_version_is_refused(tmp_path: Path):
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    parameters = {"host_compiler": {"name": "gcc", "version": "1.2.3"}, "gpu": None}
    write_request(folder, "build", {"config": ["config.json"]}, parameters)
    ran = run_module(folder, "enginewright.products.aotinductor.build")
    assert ran.code == 1
    assert "the host compiler is not the recorded one" in ran.errors
    assert "gcc 1.2.3" in ran.errors


@pytest.mark.parametrize("name", ["engine.pt2", "constants.safetensors"])
def test_nothing_of_a_failed_compilation_is_left_in_the_outputs(tmp_path: Path, name: str):
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**CONFIG, "hidden_act": "gelu"}))
    parameters = {
        "task": "text-generation-with-past",
        "dtype": "float32",
        "limits": {"batch": 1, "sequence": 8, "reach": 8},
        "gpu": None,
        "host_compiler": {"name": "gcc", "version": compiler_version()},
        "tuning": {},
    }
    write_request(folder, "build", {"config": ["config.json"]}, parameters)
    ran = run_module(folder, "enginewright.products.aotinductor.build")
    assert ran.code == 1
    assert "hidden_act" in ran.errors
    assert not (ran.outputs / name).exists()

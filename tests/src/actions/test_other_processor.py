"""The steps that compute give the same bytes without the newer instructions of the processor.

One process runs them as they are, one is kept to a single CPU and from AVX, FMA and AVX-512 by the
variables that the libraries have for that. It stands for an older processor and is none: ONNX
Runtime and TensorRT for RTX ask the processor itself, and have no such variable.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from step_process import run, write_request

from enginewright import canonical_json
from enginewright.actions import (
    convert_weights,
    export_direct,
    export_onnx,
    quantize_model,
    verify_checkpoint,
)
from enginewright.hashing import FileDigest
from enginewright.products.onnxruntime import build as build_onnxruntime_engine
from enginewright.products.tensorrt import libraries
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX
from enginewright.step import ActionRequest, InputFile, Step

OLDER = {
    "ATEN_CPU_CAPABILITY": "default",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-FMA,-FMA4",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "OPENBLAS_CORETYPE": "Nehalem",
}
HIDDEN, HEAD, VOCABULARY = 64, 128, 96
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": HEAD,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 1000000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 512,
    },
}
SHAPES: dict[str, tuple[int, ...]] = {
    "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
    "model.layers.0.input_layernorm.weight": (HIDDEN,),
    "model.layers.0.mlp.down_proj.weight": (HIDDEN, 96),
    "model.layers.0.mlp.gate_proj.weight": (96, HIDDEN),
    "model.layers.0.mlp.up_proj.weight": (96, HIDDEN),
    "model.layers.0.post_attention_layernorm.weight": (HIDDEN,),
    "model.layers.0.self_attn.k_norm.weight": (HEAD,),
    "model.layers.0.self_attn.k_proj.weight": (HEAD, HIDDEN),
    "model.layers.0.self_attn.o_proj.weight": (HIDDEN, 2 * HEAD),
    "model.layers.0.self_attn.q_norm.weight": (HEAD,),
    "model.layers.0.self_attn.q_proj.weight": (2 * HEAD, HIDDEN),
    "model.layers.0.self_attn.v_proj.weight": (HEAD, HIDDEN),
    "model.norm.weight": (HIDDEN,),
}
PROFILE = {
    "batch": [1, 1, 2],
    "sequence": [1, 4, 16],
    "past_sequence": [0, 1, 15],
    "total_sequence": [1, 5, 31],
}
COSINES = "cosines of numpy"
POWERS = "powers of torch"
PARTS = {
    "verified": ["checkpoint.json", "config.json"],
    "half": ["model/model.onnx", "model/model.onnx.data"],
    "single": ["model/model.onnx", "model/model.onnx.data"],
    "direct": ["model/model.onnx"],
    "converted": ["weights/model.safetensors"],
    "quantized": ["model/model.onnx", "model/model.quantized.data"],
    "cpu": ["model.onnx", "model.onnx.data"],
    "cpu_quantized": ["model.onnx", "model.onnx.data"],
    "engine": ["outputs/engine.plan"],
}


class Steps:
    """Runs steps in this process; each puts its outputs into a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(
        self, name: str, step: Step, inputs: dict[str, list[Path]], **parameters: object
    ) -> Path:
        outputs = self.folder / name
        outputs.mkdir()
        given = {
            role: tuple(InputFile(path, FileDigest.of(path)) for path in paths)
            for role, paths in inputs.items()
        }
        result = step(ActionRequest(name, given, parameters), outputs)
        canonical_json.write(outputs / "result.json", result)
        return outputs

    def build_engine(
        self, name: str, model: list[Path], record: Path, **parameters: object
    ) -> None:
        """In a process of its own, where it has its heap."""
        folder = self.folder / name
        folder.mkdir()
        for path in (record, *model):
            (folder / path.name).hardlink_to(path)
        inputs = {"model": [path.name for path in model], "record": [record.name]}
        write_request(folder, "build_engine", inputs, parameters)
        ran = run(folder, "-m", "enginewright.products.tensorrt_rtx.build", **os.environ)
        assert ran.code == 0, ran.errors


def run_steps(checkpoint: Path, folder: Path) -> None:
    steps = Steps(folder)
    config, weights = checkpoint / "config.json", checkpoint / "model.safetensors"
    verified = steps.run(
        "verified", verify_checkpoint.run, {"config": [config], "weights": [weights]}
    )
    config, descriptor = verified / "config.json", verified / "checkpoint.json"
    traced: dict[str, Any] = {"task": "text-generation", "opset": 23}
    original = {"config": [config], "weights": [weights]}
    steps.run("half", export_onnx.run, original, **traced, dtype="float16")
    single = steps.run("single", export_onnx.run, original, **traced, dtype="float32")
    cached: dict[str, Any] = {"task": "text-generation-with-past", "opset": 23}
    layout = {"config": [config], "descriptor": [descriptor]}
    direct = steps.run("direct", export_direct.run, layout, **cached, dtype="float16")
    stored = {"weights": [weights], "descriptor": [descriptor]}
    steps.run("converted", convert_weights.run, stored, dtype="float16")
    files = sorted((single / "model").iterdir())
    quantized = steps.run(
        "quantized", quantize_model.run, {"model": files}, method="int4", group_size=32
    )
    steps.run("cpu", build_onnxruntime_engine.run, {"model": files})
    files = sorted((quantized / "model").iterdir())
    steps.run("cpu_quantized", build_onnxruntime_engine.run, {"model": files})
    TENSORRT_RTX.load()
    toolchain = {
        "product": "tensorrt-rtx",
        "version": libraries.loaded_version(TENSORRT_RTX),
        "libraries": libraries.list_libraries(TENSORRT_RTX),
    }
    steps.build_engine(
        "engine",
        [direct / "model/model.onnx", folder / "converted/weights/model.safetensors"],
        direct / "onnx.json",
        toolchain=toolchain,
        profiles=[PROFILE],
        compute_capabilities=["8.9"],
    )


def write_controls(folder: Path) -> None:
    """What does differ between the two processes, or the comparison would show nothing."""
    angles = np.arange(4096, dtype=np.float32)
    (folder / COSINES).write_bytes(np.cos(angles).tobytes())
    exponents = torch.arange(0, HEAD, 2, dtype=torch.float32) / HEAD
    powers = [theta**exponents for theta in (10000.0, 25000.0, 500000.0, 1000000.0)]
    (folder / POWERS).write_bytes(torch.stack(powers).numpy().tobytes())


def digests(checkpoint: Path, folder: Path, **variables: str) -> dict[str, str]:
    """sha256 of every file that the steps put out, and of the controls."""
    folder.mkdir()
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), str(checkpoint), str(folder)],
        env={**environment, "PYTHONPATH": path, **variables},
        timeout=300,
        check=True,
    )
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    folder = tmp_path_factory.mktemp("processors")
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    canonical_json.write(checkpoint / "config.json", CONFIG)
    draw = np.random.Generator(np.random.Philox(11)).standard_normal
    weights = {name: draw(shape).astype(np.float32) * 0.3 for name, shape in SHAPES.items()}
    save_file(weights, checkpoint / "model.safetensors")
    as_it_is = digests(checkpoint, folder / "as it is")
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        older = digests(checkpoint, folder / "older", **OLDER)
    finally:
        os.sched_setaffinity(0, processors)
    return as_it_is, older


@pytest.mark.parametrize("control", [COSINES, POWERS])
def test_the_libraries_themselves_differ(
    both: tuple[dict[str, str], dict[str, str]], control: str
) -> None:
    as_it_is, older = both
    assert as_it_is[control] != older[control], "needs a processor with AVX2"


@pytest.mark.parametrize("step", PARTS)
def test_steps_do_not(both: tuple[dict[str, str], dict[str, str]], step: str) -> None:
    one, other = (
        {name: sha256 for name, sha256 in each.items() if name.startswith(f"{step}/")}
        for each in both
    )
    assert {f"{step}/{name}" for name in PARTS[step]} <= {*one}
    assert other == one


if __name__ == "__main__":
    write_controls(Path(sys.argv[2]))
    run_steps(Path(sys.argv[1]), Path(sys.argv[2]))

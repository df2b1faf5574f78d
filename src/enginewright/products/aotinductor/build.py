"""Compile a decoder ahead of time with torch's AOTInductor, for a GPU that need not be here.

Inputs: `config`, the checkpoint's config.json. Weights are no input: they stay in their files.
Parameters: those of `request.CompileRequest`, with `host_compiler` in the place of `compiler`.
Outputs: `engine.pt2`; `constants.safetensors` with what the engine reads and no checkpoint has.
"""

from __future__ import annotations

import sys
from pathlib import Path

from enginewright import canonical_json
from enginewright.checkpoint.config import parse_config
from enginewright.compatibility.version import ComputeCapability
from enginewright.document import decode, encode
from enginewright.engines.build_result import BuildResult, ProductVersion
from enginewright.engines.reproducibility import BIT_IDENTICAL
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem
from enginewright.exporters.direct.decoder_architecture import (
    DecoderArchitecture,
    read_architecture,
)
from enginewright.hashing import FileDigest
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.products.aotinductor import cuda_home, fixed_paths
from enginewright.products.aotinductor.request import CompileRequest
from enginewright.products.aotinductor.table import AotInductorTable, CompiledFor
from enginewright.step import ActionRequest, Result, main

WORKER = "enginewright.products.aotinductor.compile"
OUTPUTS = ("engine.pt2", "constants.safetensors")


def run(request: ActionRequest, outputs: Path) -> Result:
    config = request.file("config")
    config.verify()
    parameters = dict(request.parameters)
    compiler = decode(HostCompiler, parameters.pop("host_compiler"), "host_compiler")
    compiler.require_installed()
    content = canonical_json.read_object(config.path)
    architecture = read_architecture(
        parse_config(content, config.path.name), str(parameters["task"]), config.path.name
    )
    document = {**parameters, "compiler": compiler.path}
    canonical_json.write(Path("compile.json"), document)
    fixed_paths.link("config.json", config.path)
    code = fixed_paths.run_module(WORKER, _variables(compiler, parameters["gpu"] is not None))
    if code != 0:
        raise InputError(_failure(code))
    for name in OUTPUTS:
        Path(name).replace(outputs / name)
    compiled = canonical_json.read_object(Path("compiled.json"))
    made = decode(CompileRequest, document, "parameters")
    return encode(_result(outputs, made, architecture, str(compiled["torch"]), compiler))


def _result(
    outputs: Path,
    made: CompileRequest,
    architecture: DecoderArchitecture,
    torch: str,
    compiler: HostCompiler,
) -> BuildResult:
    names = architecture.names
    own = AotInductorTable(
        engine=OUTPUTS[0],
        constants=OUTPUTS[1],
        dtype=made.dtype,
        layers=len(architecture.sliding_windows),
        kv_heads=architecture.kv_heads,
        head_dim=architecture.head_dim,
        limits=made.limits,
        host_compiler=f"{compiler.name} {compiler.version}",
        tied=(f"{names.embedding}.weight", f"{names.head}.weight") if architecture.tied else (),
        gpu=None
        if made.gpu is None
        else CompiledFor(made.gpu.name, ComputeCapability.parse(made.gpu.compute_capability)),
    )
    return BuildResult(
        product=ProductVersion("aotinductor", torch),
        files={name: FileDigest.of(outputs / name) for name in OUTPUTS},
        tensors=tensors_of(architecture, made.dtype),
        reproducibility=BIT_IDENTICAL,
        own=encode(own),
    )


def tensors_of(architecture: DecoderArchitecture, dtype: str) -> tuple[EngineTensor, ...]:
    """As the runtime of this project serves them (`backend.py`)."""
    past = ("batch", architecture.kv_heads, "past_sequence", architecture.head_dim)
    present = ("batch", architecture.kv_heads, "total_sequence", architecture.head_dim)
    parts = [
        f"{layer}.{part}"
        for layer in range(len(architecture.sliding_windows))
        for part in ("key", "value")
    ]
    return (
        EngineTensor("input_ids", "input", "int64", ("batch", "sequence")),
        EngineTensor("attention_mask", "input", "int64", ("batch", "total_sequence")),
        EngineTensor("position_ids", "input", "int64", ("batch", "sequence")),
        *(EngineTensor(f"past_key_values.{part}", "input", dtype, past) for part in parts),
        EngineTensor("logits", "output", dtype, ("batch", "sequence", architecture.vocabulary)),
        *(EngineTensor(f"present.{part}", "output", dtype, present) for part in parts),
    )


def _variables(compiler: HostCompiler, with_gpu: bool) -> dict[str, str]:
    cache = fixed_paths.HERE / fixed_paths.FOLDER / "cache"
    variables = {
        "CXX": compiler.path,
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        # One after the other: what is compiled first can show in names.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # Source lines in a cubin carry paths.
        "TRITON_DISABLE_LINE_INFO": "1",
    }
    if with_gpu:
        home = fixed_paths.FOLDER / "cuda"
        cuda_home.lay_out(sys.path, home, compiler.path)
        variables["CUDA_HOME"] = str(fixed_paths.HERE / home)
    return variables


def _failure(code: int) -> Problem:
    return Problem(
        "the compilation ended without an engine; its reasons stand above",
        WORKER,
        "exit code 0",
        f"exit code {code}",
    )


if __name__ == "__main__":
    main(run)

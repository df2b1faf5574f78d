"""Compile a decoder ahead of time with torch's AOTInductor, for a GPU that need not be here.

Inputs: `config`, the checkpoint's config.json. Weights are no input: they stay in their files.
Parameters: those of `request.CompileRequest`, with `host_compiler` in the place of `compiler`.
Outputs: `engine.pt2`; `constants.safetensors` with what the engine reads and no checkpoint has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.checkpoint.config import parse_config
from enginewright.document import decode
from enginewright.errors import InputError, Problem
from enginewright.exporters.direct.decoder_architecture import read_architecture
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.products.aotinductor import cuda_home, fixed_paths
from enginewright.step import ActionRequest, Result, main

WORKER = "enginewright.products.aotinductor.compile"
TASK = "text-generation-with-past"
OUTPUTS = ("engine.pt2", "constants.safetensors")


def run(request: ActionRequest, outputs: Path) -> Result:
    config = request.file("config")
    config.verify()
    parameters = dict(request.parameters)
    compiler = decode(HostCompiler, parameters.pop("host_compiler"), "host_compiler")
    compiler.require_installed()
    content = canonical_json.read_object(config.path)
    read_architecture(parse_config(content, config.path.name), TASK, config.path.name)
    document = {**parameters, "compiler": compiler.path}
    canonical_json.write(Path("compile.json"), document)
    fixed_paths.link("config.json", config.path)
    code = fixed_paths.run_module(WORKER, _variables(compiler, parameters["gpu"] is not None))
    if code != 0:
        raise InputError(_failure(code))
    for name in OUTPUTS:
        Path(name).replace(outputs / name)
    compiled: Mapping[str, Any] = json.loads(Path("compiled.json").read_text(encoding="utf-8"))
    return {"files": list(OUTPUTS), **compiled}


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

"""Compile a decoder: `python -m enginewright.products.aotinductor.compile`, started by `build`.

Reads `compile.json` of the working folder and `.fixed/config.json`, and writes `engine.pt2`,
`constants.safetensors` and `compiled.json` there. Runs with fixed paths (`fixed_paths.py`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from enginewright import canonical_json, progress
from enginewright.checkpoint.config import parse_config
from enginewright.document import decode
from enginewright.errors import InputError
from enginewright.exporters.direct.decoder_architecture import (
    DecoderArchitecture,
    read_architecture,
)
from enginewright.products.aotinductor import fixed_paths
from enginewright.products.aotinductor.decoder import FREQUENCIES
from enginewright.products.aotinductor.export import export
from enginewright.products.aotinductor.name_table import check_names
from enginewright.products.aotinductor.replaced_names import Compilation, replaced
from enginewright.products.aotinductor.request import CompileRequest

ENGINE = "engine.pt2"
CONSTANTS = "constants.safetensors"
CONFIG = fixed_paths.FOLDER / "config.json"

OPTIONS = {
    # Weights are loaded from the checkpoint's own files, and are no input of a compilation.
    "aot_inductor.package_constants_in_so": False,
    "joint_graph_constant_folding": False,
    # Else constants of up to eight numbers are compiled in, with the values of the moment.
    "always_keep_tensor_constants": True,
    "deterministic": True,
}
OPTIONS_WITH_GPU = {"triton.autotune_at_compile_time": True}


def compile_engine(request: CompileRequest, architecture: DecoderArchitecture) -> dict[str, Any]:
    """Write the engine; return what `compiled.json` says. Raises `InputError`."""
    check_names(torch.__version__)
    compilation = Compilation(request.tuning)
    with replaced(request.gpu, compilation) as mode:
        progress.report("compile", "tracing")
        device = "cpu" if request.gpu is None else "cuda"
        dtype = getattr(torch, request.dtype)
        program = export(architecture, dtype, request.limits, device, mode)
        progress.report("compile", "compiling")
        torch._inductor.aoti_compile_and_package(
            program,
            package_path=ENGINE,
            inductor_configs={**OPTIONS, **({} if request.gpu is None else OPTIONS_WITH_GPU)},
        )
    frequencies = torch.from_numpy(architecture.rotary.inverse_frequencies)
    save_file({FREQUENCIES: frequencies}, CONSTANTS)
    return {"torch": torch.__version__, "configurations": compilation.configurations}


def main() -> int:
    try:
        document = json.loads(Path("compile.json").read_text(encoding="utf-8"))
        request = decode(CompileRequest, document, "compile.json")
        config = parse_config(canonical_json.read_object(CONFIG), CONFIG.name)
        architecture = read_architecture(config, request.task, CONFIG.name)
        canonical_json.write(Path("compiled.json"), compile_engine(request, architecture))
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`enginewright size`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from enginewright import canonical_json
from enginewright.commands.command import Command
from enginewright.memory import report
from enginewright.memory.gpu import gpu_memory
from enginewright.memory.kv_cache import DTYPE_BYTES
from enginewright.memory.model_shape import read_model_shape
from enginewright.memory.server_plan import GIB, RUNTIMES, SizeRequest, plan
from enginewright.memory.weights import read_weights


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT_DIR")
    memory = parser.add_mutually_exclusive_group(required=True)
    memory.add_argument("--gpu", metavar="NAME", help="a name of `enginewright compat gpu`")
    memory.add_argument("--memory-gib", type=float, metavar="N")
    parser.add_argument("--memory-utilization", type=float, default=0.9, metavar="PART")
    parser.add_argument("--tensor-parallel", "--tp", type=int, default=1, metavar="N")
    parser.add_argument("--max-model-len", type=int, metavar="TOKENS")
    parser.add_argument("--max-num-seqs", type=int, default=256, metavar="N")
    parser.add_argument("--max-num-batched-tokens", type=int, default=2048, metavar="TOKENS")
    parser.add_argument(
        "--dtype", default="auto", choices=("auto", "float32", "float16", "bfloat16")
    )
    parser.add_argument("--kv-dtype", default="auto", choices=("auto", *DTYPE_BYTES))
    parser.add_argument("--runtime", default="vllm", choices=RUNTIMES)
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    shape = read_model_shape(options.checkpoint / "config.json")
    # As vLLM's `auto`: models stored in float32 are computed in float16.
    stored = "float16" if shape.dtype == "float32" else shape.dtype
    dtype = options.dtype if options.dtype != "auto" else stored
    request = SizeRequest(
        memory=gpu_memory(options.gpu) if options.gpu else int(options.memory_gib * GIB),
        utilization=options.memory_utilization,
        tensor_parallel=options.tensor_parallel,
        max_model_len=options.max_model_len,
        dtype=dtype,
        kv_dtype=options.kv_dtype if options.kv_dtype != "auto" else dtype,
        batched_tokens=options.max_num_batched_tokens,
        sequences=options.max_num_seqs,
        runtime=options.runtime,
    )
    sized = plan(shape, read_weights(options.checkpoint, dtype), request)
    if options.json:
        sys.stdout.write(canonical_json.dumps(report.to_json(shape, request, sized)))
    else:
        print(report.text(shape, request, sized))
    return 1 if sized.problems else 0


COMMAND = Command("size", "what of a checkpoint fits on a GPU", arguments, run)

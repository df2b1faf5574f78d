"""`enginewright size`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from enginewright import canonical_json
from enginewright.commands.command import Command
from enginewright.dtype import COMPUTED
from enginewright.memory import server_report
from enginewright.memory.dtype import DTYPE_BYTES
from enginewright.memory.gpu import gpu_memory
from enginewright.memory.model_shape import read_model_shape, with_speculation
from enginewright.memory.server_memory import GIB, RUNTIMES, ServerMemoryRequest, server_memory
from enginewright.memory.weight_evidence import with_evidence
from enginewright.memory.weights import loaded_weights, read_stored


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
    parser.add_argument("--dtype", default="auto", choices=("auto", *COMPUTED))
    parser.add_argument("--kv-dtype", default="auto", choices=("auto", *DTYPE_BYTES))
    parser.add_argument("--runtime", default="vllm", choices=RUNTIMES)
    parser.add_argument(
        "--speculative",
        action="store_true",
        help="count the layers behind the model's own, with which a server drafts tokens (MTP)",
    )
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    config = read_model_shape(options.checkpoint / "config.json")
    # As vLLM's `auto`: models stored in float32 are computed in float16.
    stored_dtype = "float16" if config.dtype == "float32" else config.dtype
    dtype = options.dtype if options.dtype != "auto" else stored_dtype
    request = ServerMemoryRequest(
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
    stored = read_stored(options.checkpoint)
    layers = config.stored_layers
    shape = with_evidence(config, stored.tensors())
    if options.speculative:
        shape = with_speculation(shape)
    weights = loaded_weights(stored, dtype, layers, speculative=options.speculative)
    sized = server_memory(shape, weights, request)
    if options.json:
        document = server_report.to_json(shape, weights, request, sized)
        sys.stdout.write(canonical_json.dumps(document))
    else:
        print(server_report.text(shape, weights, request, sized))
    return 1 if sized.problems else 0


COMMAND = Command("size", "what of a checkpoint fits on a GPU", arguments, run)

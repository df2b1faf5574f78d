"""The plan for people and for machines, each term on its own line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from enginewright.memory.model_shape import ModelShape
from enginewright.memory.server_plan import GIB, SizePlan, SizeRequest


def text(shape: ModelShape, request: SizeRequest, plan: SizePlan) -> str:
    part = f"{request.utilization:g} of {_gib(request.memory)}"
    lines = [
        f"{shape.architecture} in {request.dtype}, KV cache in {request.kv_dtype}, "
        f"tensor parallel {request.tensor_parallel}, {request.runtime}",
        f"  budget on one GPU     {_gib(plan.budget)}"
        + (f"  ({part})" if request.runtime == "vllm" else ""),
        f"  - weights             {_gib(plan.weights)}",
        f"  - activations         {_gib(plan.activations)}  (estimate: {request.batched_tokens} "
        f"tokens a step, {request.sequences} sequences)",
        f"  - context and kernels {_gib(plan.other)}  (estimate)",
        f"  = KV cache            {_gib(plan.available)}"
        + ("" if request.runtime == "vllm" else f"  ({request.utilization:g} of what is free)"),
        f"  a token takes         {plan.token_bytes} bytes "
        f"({shape.layers} layers, {shape.kv_heads} KV heads of {shape.head_dim})",
        f"  tokens in the cache   {plan.cache_tokens}",
        f"  largest max_model_len {plan.max_model_len}  (cache: {plan.fitting_length}; config: "
        f"{shape.length.tokens} from {shape.length.source})",
        f"  largest max_num_seqs  {plan.max_num_seqs}  at "
        f"{request.max_model_len or plan.max_model_len} tokens each",
        "  tensor-parallel sizes " + ", ".join(str(size) for size in plan.tensor_parallel_sizes),
    ]
    if request.runtime == "tensorrt-llm":
        lines.append("  TensorRT-LLM was never run by this project: its formula is the documents'")
    return "\n".join([*lines, *(f"\n{problem}" for problem in plan.problems)])


def to_json(shape: ModelShape, request: SizeRequest, plan: SizePlan) -> dict[str, Any]:
    return {"model": asdict(shape), "request": asdict(request), "plan": asdict(plan)}


def _gib(size: int) -> str:
    return f"{size / GIB:8.2f} GiB"

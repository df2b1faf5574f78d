"""The plan for people and for machines, each term on its own line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from enginewright.memory.layer import Layer, LayerKind
from enginewright.memory.model_shape import ModelShape
from enginewright.memory.server_memory import GIB, ServerMemory, ServerMemoryRequest
from enginewright.memory.weights import Weights


def text(
    shape: ModelShape, weights: Weights, request: ServerMemoryRequest, memory: ServerMemory
) -> str:
    part = f"{request.utilization:g} of {_gib(request.memory)}"
    lines = [
        f"{shape.architecture} in {request.dtype}, KV cache in {request.kv_dtype}, "
        f"tensor parallel {request.tensor_parallel}, {request.runtime}",
        f"  budget on one GPU     {_gib(memory.budget)}"
        + (f"  ({part})" if request.runtime == "vllm" else ""),
        f"  - weights             {_gib(memory.weights)}",
        f"  - activations         {_gib(memory.activations)}  (estimate: {request.batched_tokens} "
        f"tokens a step, {request.sequences} sequences)",
        f"  - context and kernels {_gib(memory.other)}  (estimate)",
        f"  = KV cache            {_gib(memory.available)}"
        + ("" if request.runtime == "vllm" else f"  ({request.utilization:g} of what is free)"),
        *_cache_lines(shape, memory),
        f"  tokens in the cache   {memory.cache_tokens}",
        f"  largest max_model_len {memory.max_model_len}  (cache: {memory.fitting_length}; config: "
        f"{shape.length.tokens} from {shape.length.source})",
        f"  largest max_num_seqs  {memory.max_num_seqs}  at "
        f"{request.max_model_len or memory.max_model_len} tokens each",
        "  tensor-parallel sizes " + ", ".join(str(size) for size in memory.tensor_parallel_sizes),
    ]
    lines += [
        f"  not counted: {item.name}, {_gib(item.bytes).strip()}: {item.why}"
        for item in weights.skipped
    ]
    lines += [f"  {note}" for note in shape.notes]
    if request.runtime == "tensorrt-llm":
        lines.append("  TensorRT-LLM was never run by this project: its formula is the documents'")
    return "\n".join([*lines, *(f"\n{problem}" for problem in memory.problems)])


def _cache_lines(shape: ModelShape, memory: ServerMemory) -> Iterator[str]:
    """Bytes a token, and whether they are exact."""
    bound = "exactly" if shape.exact and not shape.count(LayerKind.SLIDING) else "at most"
    bound = "about" if shape.guesses else bound
    kept = len(shape.caching_layers)
    yield (
        f"  a token takes {bound:7} {memory.token_bytes} bytes  ({kept} of {len(shape.layers)} "
        f"layers keep it: {_described(shape)})"
    )
    if shape.count(LayerKind.SLIDING):
        windows = sorted({layer.window for layer in shape.layers if layer.window})
        tokens = " or ".join(str(window) for window in windows)
        yield (
            f"    at most, because {shape.count(LayerKind.SLIDING)} layers look back {tokens} "
            f"tokens only: beyond, a token takes {memory.growing_bytes} bytes where the runtime "
            "frees what lies behind, as vLLM does; the largest max_model_len counts on it"
        )
    yield from (f"    at most, because {doubt}" for doubt in shape.doubts)
    yield from (f"    about, because {guess}" for guess in shape.guesses)
    if memory.state_bytes:
        states = sum(bool(layer.state) for layer in shape.layers)
        yield (
            f"  a sequence keeps      {memory.state_bytes} bytes more whatever its length  "
            f"(the state of {states} layers)"
        )


def _described(shape: ModelShape) -> str:
    counted = Counter(_layer_words(layer) for layer in shape.layers)
    return "; ".join(f"{number} {words}" for words, number in counted.items())


def _layer_words(layer: Layer) -> str:
    words = [layer.kind.value]
    if layer.kv_heads:
        sizes = f"{layer.kv_heads} KV heads of {layer.key_dim}"
        words.append(
            sizes if layer.key_dim == layer.value_dim else f"{sizes} and {layer.value_dim}"
        )
    if layer.latent_width:
        words.append(f"{layer.latent_width} elements")
    if layer.index_width:
        words.append(f"index of {layer.index_width}")
    if layer.state and layer.token_elements():
        words.append("a state beside")
    return ", ".join(words)


def to_json(
    shape: ModelShape, weights: Weights, request: ServerMemoryRequest, memory: ServerMemory
) -> dict[str, Any]:
    model = asdict(shape)
    model["layers"] = [{**asdict(layer), "kind": layer.kind.value} for layer in shape.layers]
    return {
        "model": model,
        "weights": asdict(weights),
        "request": asdict(request),
        "plan": asdict(memory),
    }


def _gib(size: int) -> str:
    return f"{size / GIB:8.2f} GiB"

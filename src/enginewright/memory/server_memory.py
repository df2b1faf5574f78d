"""What fits: budget minus weights, activations and the rest is the KV cache; every term is kept."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.dtype import COMPUTED
from enginewright.errors import Problem, raise_if_any
from enginewright.memory.dtype import DTYPE_BYTES
from enginewright.memory.kv_cache import (
    CacheRequest,
    cache_tokens,
    fitting_length,
    growing_bytes,
    sequence_bytes,
    state_bytes,
    token_bytes,
)
from enginewright.memory.model_shape import ModelShape, length_problem
from enginewright.memory.parallel import size_problem, valid_sizes
from enginewright.memory.weights import Weights

GIB = 1 << 30
RUNTIMES = ("vllm", "tensorrt-llm")
OTHER_BYTES = GIB // 2
"""CUDA context, kernels and communication buffers. An estimate: published vLLM logs show 0.03 to
0.6 GiB of non-torch memory."""
DEFAULT_BATCHED_TOKENS = 2048
DEFAULT_SEQUENCES = 256


@dataclass(frozen=True)
class ServerMemoryRequest:
    """A GPU and how a server uses it."""

    memory: int
    """Bytes of one GPU."""
    utilization: float = 0.9
    """vLLM: the part of the memory that it may use. TensorRT-LLM: the part of what weights and
    activations leave free that becomes KV cache."""
    tensor_parallel: int = 1
    max_model_len: int | None = None
    dtype: str = "float16"
    kv_dtype: str = "float16"
    batched_tokens: int = DEFAULT_BATCHED_TOKENS
    """Tokens that one step computes."""
    sequences: int = DEFAULT_SEQUENCES
    """Most sequences at once."""
    other: int = OTHER_BYTES
    runtime: str = "vllm"

    def __post_init__(self) -> None:
        problems = []
        if not 0 < self.utilization <= 1:
            problems.append(
                Problem(
                    "memory utilization is a part", expected="0 to 1", actual=f"{self.utilization}"
                )
            )
        for name in ("memory", "tensor_parallel", "batched_tokens", "sequences"):
            if getattr(self, name) < 1:
                problems.append(
                    Problem(
                        f"{name} is not a count",
                        expected="at least 1",
                        actual=str(getattr(self, name)),
                    )
                )
        if self.max_model_len is not None and self.max_model_len < 1:
            problems.append(Problem("max_model_len is not a count", actual=str(self.max_model_len)))
        for name, value, valid in (
            ("dtype", self.dtype, COMPUTED),
            ("kv_dtype", self.kv_dtype, tuple(DTYPE_BYTES)),
            ("runtime", self.runtime, RUNTIMES),
        ):
            if value not in valid:
                problems.append(
                    Problem(f"unknown {name}", expected=", ".join(valid), actual=value[:40])
                )
        raise_if_any(problems)

    @property
    def cache(self) -> CacheRequest:
        """What of it decides the cache."""
        return CacheRequest(self.kv_dtype, self.dtype, self.tensor_parallel, self.batched_tokens)


@dataclass(frozen=True)
class ServerMemory:
    """Every term, in bytes on one GPU; `available` may be negative: then nothing fits."""

    budget: int
    weights: int
    activations: int
    other: int
    available: int
    token_bytes: int
    """Of one token in all layers, while it is in every window."""
    growing_bytes: int
    """What a token adds to a sequence that is longer than every window."""
    state_bytes: int
    """What each sequence keeps whatever its length."""
    cache_tokens: int
    """Tokens of all sequences together, if no window saves anything and one has a state."""
    fitting_length: int
    """The longest single sequence that the cache holds, when windows forget what is behind them."""
    max_model_len: int
    """The longest that both the cache and the config allow."""
    max_num_seqs: int
    """Sequences of the wanted length (the longest one, when none is wanted) at once."""
    tensor_parallel_sizes: tuple[int, ...]
    problems: tuple[Problem, ...]
    """Why the request does not fit; empty when it does."""


def available_bytes(
    memory: int, utilization: float, weights: int, activations: int, other: int
) -> int:
    """What vLLM leaves for the cache: memory * utilization - weights - activations - other."""
    return int(memory * utilization) - weights - activations - other


def activation_bytes(shape: ModelShape, request: ServerMemoryRequest) -> int:
    """Peak of one step, an estimate that agrees with published logs within a few percent.

    `tokens * (2 * hidden + 3 * intermediate / tp)` elements (residual and its update; gate, up and
    their product) in the computing dtype, and the logits of every sequence in that dtype and in
    float32.
    """
    size = DTYPE_BYTES[request.dtype]
    width = 2 * shape.hidden_size + 3 * -(-shape.intermediate_size // request.tensor_parallel)
    logits = request.sequences * shape.vocab_size * (size + 4)
    return request.batched_tokens * width * size + logits


def server_memory(
    shape: ModelShape, weights: Weights, request: ServerMemoryRequest
) -> ServerMemory:
    """Size a model for a GPU. Pure: numbers in, numbers out.

    Raises `InputError` for a tensor-parallel size that the heads do not allow.
    """
    tp_problem = size_problem(shape, request.tensor_parallel)
    if tp_problem is not None:
        raise_if_any([tp_problem])
    loaded = weights.on_one(request.tensor_parallel)
    activations = activation_bytes(shape, request)
    if request.runtime == "vllm":
        budget = int(request.memory * request.utilization)
        available = available_bytes(
            request.memory, request.utilization, loaded, activations, request.other
        )
    else:
        budget = request.memory
        free = budget - loaded - activations - request.other
        available = int(free * request.utilization) if free > 0 else free
    tp, kv_dtype = request.tensor_parallel, request.kv_dtype
    fitting = fitting_length(shape, available, request.cache)
    longest = min(fitting, shape.length.tokens)
    wanted = request.max_model_len or longest
    return ServerMemory(
        budget=budget,
        weights=loaded,
        activations=activations,
        other=request.other,
        available=available,
        token_bytes=token_bytes(shape, kv_dtype, tp),
        growing_bytes=growing_bytes(shape, kv_dtype, tp),
        state_bytes=state_bytes(shape, request.cache),
        cache_tokens=cache_tokens(shape, available, request.cache),
        fitting_length=fitting,
        max_model_len=longest,
        max_num_seqs=_sequences(shape, available, wanted, request),
        tensor_parallel_sizes=valid_sizes(shape),
        problems=tuple(_problems(shape, request, available, fitting)),
    )


def _sequences(shape: ModelShape, available: int, length: int, request: ServerMemoryRequest) -> int:
    """Sequences of that length at once."""
    if not length or available <= 0:
        return 0
    one = sequence_bytes(shape, length, request.cache)
    return min(available // one, request.sequences) if one else request.sequences


def _problems(
    shape: ModelShape, request: ServerMemoryRequest, available: int, fitting: int
) -> list[Problem]:
    problems = []
    if available <= 0 or fitting == 0:
        problems.append(
            Problem(
                "no memory is left for the KV cache",
                expected="budget greater than weights, activations and the rest",
                actual=f"{available / GIB:.2f} GiB",
                fix="a larger GPU, more tensor parallelism, a higher utilization, smaller weights; "
                "start servers that share a GPU one after the other",
            )
        )
    wanted = request.max_model_len
    if wanted is not None:
        too_long = length_problem(shape, wanted)
        if too_long is not None:
            problems.append(too_long)
        if wanted > fitting > 0:
            taken = sequence_bytes(shape, wanted, request.cache)
            problems.append(
                Problem(
                    f"{wanted} tokens do not fit in the KV cache",
                    "max_model_len",
                    f"at most {fitting}",
                    f"{wanted}, which take {taken / GIB:.2f} of {available / GIB:.2f} GiB",
                    f"--max-model-len {min(fitting, shape.length.tokens)}",
                )
            )
    return problems

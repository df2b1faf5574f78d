"""What fits, with every term."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enginewright.errors import InputError
from enginewright.memory.gpu import gpu_memory
from enginewright.memory.kv_cache import CacheRequest, fitting_length, sequence_bytes
from enginewright.memory.model_shape import model_shape
from enginewright.memory.parallel import size_problem, valid_sizes
from enginewright.memory.server_memory import (
    GIB,
    ServerMemoryRequest,
    available_bytes,
    server_memory,
)
from enginewright.memory.server_report import text
from enginewright.memory.weights import Weights

CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "max_position_embeddings": 32768,
    "vocab_size": 152064,
    "torch_dtype": "bfloat16",
}
HALF = CacheRequest("float16", "float16")
SEVEN_B = Weights(15_200_000_000, 1_000_000)


def shape(**changes):
    return model_shape({**CONFIG, **changes}, "config.json")


def test_row_06_the_terms_of_a_budget_that_is_negative():
    # https://github.com/vllm-project/vllm/issues/13882: 8.00 * 0.70 - 5.20 - 0.03 - 1.42 = -1.05
    def gib(value: float) -> int:
        return round(value * GIB)

    available = available_bytes(gib(8.0), 0.70, gib(5.20), gib(1.42), gib(0.03))
    assert available / GIB == pytest.approx(-1.05, abs=1e-6)


def test_row_06_nothing_fits_and_every_term_is_shown():
    request = ServerMemoryRequest(8 * GIB, 0.7, dtype="bfloat16", kv_dtype="bfloat16")
    sized = server_memory(shape(), SEVEN_B, request)
    assert sized.available < 0
    assert (sized.fitting_length, sized.max_model_len, sized.max_num_seqs) == (0, 0, 0)
    assert sized.available == sized.budget - sized.weights - sized.activations - sized.other
    shown = text(shape(), SEVEN_B, request, sized)
    for part in ("budget", "weights", "activations", "context and kernels", "no memory is left"):
        assert part in shown
    assert "one after the other" in shown


def test_row_05_a_length_that_does_not_fit_comes_with_the_one_that_does():
    request = ServerMemoryRequest(
        18 * GIB, max_model_len=32768, dtype="bfloat16", kv_dtype="bfloat16", other=GIB // 2
    )
    sized = server_memory(shape(), SEVEN_B, request)
    assert 0 < sized.fitting_length < 32768
    (problem,) = sized.problems
    assert problem.fix == f"--max-model-len {sized.fitting_length}"
    assert problem.actual.startswith("32768, which take 1.75 of ")


def test_row_19_tensor_parallel_sizes_of_28_heads_and_4_kv_heads():
    assert valid_sizes(shape())[:3] == (1, 2, 4)
    for size in (7, 14):
        assert "4 KV heads" in size_problem(shape(), size).what
    assert "28 attention heads cannot be shared by 8 GPUs" in size_problem(shape(), 8).what
    assert size_problem(shape(), 8).expected == "one of 1, 2, 4, 28"


def test_row_19_a_plan_for_8_gpus_is_refused():
    with pytest.raises(InputError, match="28 attention heads"):
        server_memory(shape(), SEVEN_B, ServerMemoryRequest(GIB, tensor_parallel=8))


def test_tensor_parallelism_divides_matrices_and_kv_heads():
    one = server_memory(shape(), SEVEN_B, ServerMemoryRequest(80 * GIB))
    four = server_memory(shape(), SEVEN_B, ServerMemoryRequest(80 * GIB, tensor_parallel=4))
    assert one.weights == 15_201_000_000
    assert four.weights == 3_801_000_000
    assert four.token_bytes * 4 == one.token_bytes


def test_kv_heads_are_repeated_when_there_are_more_gpus():
    wide = shape(num_attention_heads=32, num_key_value_heads=4, head_dim=128)
    eight = server_memory(wide, SEVEN_B, ServerMemoryRequest(80 * GIB, tensor_parallel=8))
    assert eight.token_bytes == 28 * 2 * 1 * 128 * 2


def test_an_fp8_cache_holds_twice_as_much():
    half = server_memory(shape(), SEVEN_B, ServerMemoryRequest(40 * GIB, kv_dtype="float16"))
    quarter = server_memory(shape(), SEVEN_B, ServerMemoryRequest(40 * GIB, kv_dtype="fp8"))
    assert quarter.token_bytes * 2 == half.token_bytes
    assert quarter.cache_tokens // 2 // 16 == half.cache_tokens // 16


def test_latent_attention_is_not_divided():
    latent = shape(model_type="deepseek_v3", kv_lora_rank=512, qk_rope_head_dim=64)
    one = server_memory(latent, SEVEN_B, ServerMemoryRequest(80 * GIB))
    four = server_memory(latent, SEVEN_B, ServerMemoryRequest(80 * GIB, tensor_parallel=4))
    assert one.token_bytes == four.token_bytes == 28 * 576 * 2


def test_tensorrt_llm_takes_a_part_of_what_is_free():
    sized = server_memory(
        shape(), SEVEN_B, ServerMemoryRequest(80 * GIB, 0.9, runtime="tensorrt-llm")
    )
    free = 80 * GIB - sized.weights - sized.activations - sized.other
    assert sized.available == int(free * 0.9)


# Memory for exactly one window: with all layers sliding, every length fits.
@example(2 * 28 * 4 * 128 * 2 * 16, 16, False)
@given(st.integers(0, 1 << 38), st.sampled_from([None, 16, 1000, 4096]), st.booleans())
def test_the_fitting_length_fits_and_one_block_more_does_not(memory, window, half):
    changes = {"max_position_embeddings": 1 << 30}
    if window:
        kinds = ["sliding_attention", "full_attention" if half else "sliding_attention"] * 14
        changes |= {"sliding_window": window, "layer_types": kinds}
    model = shape(**changes)
    length = fitting_length(model, memory, HALF)
    assert length == 0 or sequence_bytes(model, length, HALF) <= memory
    if length < model.length.tokens:
        assert sequence_bytes(model, length + 16, HALF) > memory


@pytest.mark.parametrize(
    "changes",
    [
        {"utilization": 0.0},
        {"utilization": 1.5},
        {"utilization": float("nan")},
        {"tensor_parallel": 0},
        {"memory": 0},
        {"dtype": "int3"},
        {"kv_dtype": "fp3"},
        {"runtime": "x"},
        {"max_model_len": 0},
    ],
)
def test_requests_that_make_no_sense(changes):
    with pytest.raises(InputError):
        ServerMemoryRequest(**{"memory": GIB, **changes})


def test_gpus_by_name():
    assert gpu_memory("H200") == 143155 << 20
    assert gpu_memory("nvidia h200") == 143155 << 20
    with pytest.raises(InputError, match="A100-SXM4-40GB, A100-SXM4-80GB"):
        gpu_memory("A100")
    with pytest.raises(InputError, match="no such GPU"):
        gpu_memory("H300")

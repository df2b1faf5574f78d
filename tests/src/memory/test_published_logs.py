"""KV bytes a token and fitting lengths against figures that vLLM printed for public models.

Each config has the fields of the model's own config.json. vLLM prints memory in GiB with two
decimals, so a count of blocks that follows from it can be off by what the rounding hides; where the
log has the number of blocks itself, memory is computed from it and compared with the printed one.
"""

import pytest

from enginewright.memory.kv_cache import (
    BLOCK,
    CacheRequest,
    cache_tokens,
    fitting_length,
    sequence_bytes,
    state_bytes,
    token_bytes,
)
from enginewright.memory.model_shape import model_shape
from enginewright.memory.server_memory import (
    GIB,
    ServerMemoryRequest,
    activation_bytes,
    available_bytes,
)

LLAMA_3_1_8B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rope_scaling": {"factor": 8.0, "rope_type": "llama3"},
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
QWEN3_CODER_30B_A3B = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 5472,
    "moe_intermediate_size": 768,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "max_position_embeddings": 262144,
    "sliding_window": None,
    "torch_dtype": "bfloat16",
    "vocab_size": 151936,
}
QWEN3_1_7B = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "max_position_embeddings": 40960,
    "sliding_window": None,
    "torch_dtype": "bfloat16",
    "vocab_size": 151936,
}
LLAMA_2_7B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
    "torch_dtype": "float16",
    "vocab_size": 32000,
}

BFLOAT16 = CacheRequest("bfloat16", "bfloat16")
FLOAT16 = CacheRequest("float16", "float16")


def shape(config):
    return model_shape(config, "config.json")


@pytest.mark.parametrize(
    ("config", "expected"),
    [(LLAMA_3_1_8B, 131072), (QWEN3_CODER_30B_A3B, 98304), (QWEN3_1_7B, 114688)],
)
def test_bytes_a_token(config, expected):
    assert token_bytes(shape(config), "bfloat16") == expected


@pytest.mark.parametrize(("blocks", "printed"), [(1952, 3.81), (1478, 2.89)])
def test_llama_3_1_8b_blocks_of_vllm_issue_10517(blocks, printed):
    # https://github.com/vllm-project/vllm/issues/10517, comment of 2024-12-02, RTX 3090:
    # kv_cache_size=3.81GiB and GPU blocks: 1952; kv_cache_size=2.89GiB and 1478.
    memory = blocks * BLOCK * token_bytes(shape(LLAMA_3_1_8B), "bfloat16")
    assert round(memory / GIB, 2) == printed


def test_llama_3_1_8b_fitting_length_of_vllm_issue_10517():
    # Same comment, at 1478 blocks: "tokens that can be stored in KV cache (23648)".
    memory = 1478 * BLOCK * 131072
    assert fitting_length(shape(LLAMA_3_1_8B), memory, BFLOAT16) == 23648
    assert fitting_length(shape(LLAMA_3_1_8B), memory - 1, BFLOAT16) == 23648 - BLOCK


def test_llama_3_1_8b_terms_of_vllm_issue_10517():
    # total_gpu_memory=23.58GiB, weights 14.9888 GB (vLLM's GB is GiB), peak_torch_memory=17.06GiB,
    # non_torch_memory=0.35GiB, gpu_memory_utilization=0.90: kv_cache_size=3.81GiB.
    def gib(value: float) -> int:
        return int(value * GIB)

    available = available_bytes(gib(23.58), 0.9, gib(14.9888), gib(17.06 - 14.9888), gib(0.35))
    assert available / GIB == pytest.approx(3.81, abs=0.01)


@pytest.mark.parametrize(("max_model_len", "peak_torch_memory"), [(20000, 17.06), (29000, 17.98)])
def test_activations_are_estimated_within_five_percent(max_model_len, peak_torch_memory):
    # Same log. That release computed the whole max_model_len in one step; peak minus weights.
    request = ServerMemoryRequest(
        GIB, batched_tokens=max_model_len, dtype="bfloat16", sequences=256
    )
    published = peak_torch_memory - 14.9888
    estimate = activation_bytes(shape(LLAMA_3_1_8B), request) / GIB
    assert estimate == pytest.approx(published, rel=0.05)


def test_qwen3_coder_30b_needs_and_fits_of_vllm_issue_34076():
    # https://github.com/vllm-project/vllm/issues/34076: max seq len 262144, "24.0 GiB KV cache is
    # needed", available 3.18 GiB, "the estimated maximum model length is 34736".
    model = shape(QWEN3_CODER_30B_A3B)
    assert sequence_bytes(model, 262144, BFLOAT16) / GIB == 24.0
    memory = sequence_bytes(model, 34736, BFLOAT16)
    assert round(memory / GIB, 2) == 3.18
    assert fitting_length(model, memory, BFLOAT16) == 34736


def test_qwen3_1_7b_tokens_of_vllm_issue_33263():
    # https://github.com/vllm-project/vllm/issues/33263: "Available KV cache memory: 18.78 GiB" and
    # "GPU KV cache size: 175,856 tokens".
    model = shape(QWEN3_1_7B)
    memory = 175856 * token_bytes(model, "bfloat16")
    assert round(memory / GIB, 2) == 18.78
    assert cache_tokens(model, memory, BFLOAT16) == 175856


def test_row_05_llama_2_7b_of_vllm_issue_2418():
    # https://github.com/vllm-project/vllm/issues/2418: 229 GPU blocks; 4096 asked for, 3664 fit.
    model = shape(LLAMA_2_7B)
    assert token_bytes(model, "float16") == 524288
    assert fitting_length(model, 229 * BLOCK * 524288, FLOAT16) == 3664


def test_row_s1_qwen3_8_27b_tokens_of_talos_argocd_proxmox_1995():
    # https://github.com/mitchross/talos-argocd-proxmox/pull/1995: two GPUs, fp8 cache, 4.99 GiB on
    # each, blocks of 1568 tokens, "GPU KV cache size: 302,921 tokens" at 131,072 a request.
    # How vLLM gets there: the state of one linear layer has to fit into a block of one attention
    # layer, which is a multiple of 16 tokens; a request keeps two states a linear layer; tokens are
    # the requests that fit, times their length. It keeps one column of the convolution less.
    config = {
        "architectures": ["X"],
        "model_type": "qwen3_5_text",
        "full_attention_interval": 4,
        "head_dim": 256,
        "hidden_size": 5120,
        "num_attention_heads": 24,
        "num_hidden_layers": 64,
        "num_key_value_heads": 4,
        "linear_num_value_heads": 48,
        "linear_conv_kernel_dim": 4 - 1,
    }
    model = shape(config)
    state = state_bytes(model, CacheRequest("fp8", "bfloat16", 2)) // 48
    token = token_bytes(model, "fp8", 2) // 16
    block = -(-state // (token * BLOCK)) * BLOCK
    assert block == 1568
    blocks = int(4.99 * GIB) // (block * token * 16)
    of_a_request = -(-131072 // block) + 3 * 2
    assert int(blocks * 131072 / of_a_request) == 302921

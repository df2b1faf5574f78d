"""The compiled module's source against transformers: numbers, the cache, windows, batches."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from enginewright.checkpoint.config import parse_config
from enginewright.exporters.direct.decoder_architecture import read_architecture
from enginewright.products.aotinductor.decoder import FREQUENCIES, Decoder, tensor_shapes

BASE = {
    "vocab_size": 48,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": None,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
FAMILIES = {
    "qwen3": (transformers.Qwen3Config, {"head_dim": 16}),
    "qwen2-tied": (transformers.Qwen2Config, {"tie_word_embeddings": True}),
    "llama3-rope": (
        transformers.LlamaConfig,
        {
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 500.0,
                "factor": 4.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 16,
            }
        },
    ),
    "mistral-window": (transformers.MistralConfig, {"sliding_window": 5}),
}


def reference(kind: str) -> Any:
    torch.manual_seed(7)
    config_class, fields = FAMILIES[kind]
    model = transformers.AutoModelForCausalLM.from_config(
        config_class(**{**BASE, **fields}), attn_implementation="eager"
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    return model


def ours(model: Any) -> Decoder:
    document = model.config.to_dict()
    document["architectures"] = [type(model).__name__]
    config = parse_config(document, "config.json")
    architecture = read_architecture(config, "text-generation-with-past", "config.json")
    state = model.state_dict()
    decoder = Decoder(architecture, torch.float32).eval()
    weights = {name: state[name] for name in tensor_shapes(architecture)}
    frequencies = torch.from_numpy(architecture.rotary.inverse_frequencies)
    decoder.load_state_dict({**weights, FREQUENCIES: frequencies})
    return decoder


def empty_caches(decoder: Decoder, reach: int, batch: int) -> list[torch.Tensor]:
    size = decoder.architecture
    shape = (reach, batch, size.kv_heads, size.head_dim)
    return [torch.zeros(shape) for _ in range(2 * len(size.sliding_windows))]


@pytest.mark.parametrize("kind", FAMILIES)
@torch.no_grad()
def test_logits_are_those_of_transformers_in_one_call_and_token_by_token(kind: str):
    model = reference(kind)
    decoder = ours(model)
    ids = torch.randint(1, 48, (2, 20))
    right = model(ids).logits
    places = torch.arange(20)

    at_once = decoder(ids, places[:, None].expand(20, 2), places, empty_caches(decoder, 32, 2))
    torch.testing.assert_close(at_once, right, rtol=1e-4, atol=1e-4)

    caches = empty_caches(decoder, 24, 2)
    decoder(ids[:, :12], places[:12, None].expand(12, 2), places[:1], caches)
    for step in range(12, 20):
        position = torch.full((1, 2), step)
        logits = decoder(ids[:, step : step + 1], position, places[:1], caches)
        torch.testing.assert_close(logits[:, 0], right[:, step], rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_rows_of_a_batch_stand_at_places_of_their_own():
    model = reference("qwen3")
    decoder = ours(model)
    short, long = torch.randint(1, 48, (1, 3)), torch.randint(1, 48, (1, 7))
    padded = torch.cat([short, torch.zeros(1, 4, dtype=torch.int64)], 1)
    caches = empty_caches(decoder, 16, 2)
    places = torch.arange(7)
    prompts = torch.cat([padded, long])
    logits = decoder(prompts, places[:, None].expand(7, 2), torch.tensor([2, 6]), caches)
    torch.testing.assert_close(logits[0, 0], model(short).logits[0, -1], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(logits[1, 1], model(long).logits[0, -1], rtol=1e-4, atol=1e-4)

    # What padding wrote lies at places that the next tokens write before they are seen.
    following = torch.tensor([[5], [9]])
    logits = decoder(following, torch.tensor([[3, 7]]), torch.tensor([0]), caches)
    for row, prompt in enumerate((short, long)):
        right = model(torch.cat([prompt, following[row : row + 1]], 1)).logits[0, -1]
        torch.testing.assert_close(logits[row, 0], right, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_a_cache_is_written_where_the_positions_say_and_nowhere_else():
    decoder = ours(reference("qwen3"))
    caches = empty_caches(decoder, 8, 1)
    decoder(torch.tensor([[4, 5]]), torch.tensor([[2], [5]]), torch.tensor([0]), caches)
    written = [bool(row.abs().sum() > 0) for row in caches[0]]
    assert written == [False, False, True, False, False, True, False, False]

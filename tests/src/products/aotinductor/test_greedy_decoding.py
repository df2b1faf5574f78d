"""Tokens taken where the logits are, against transformers' own greedy search."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from enginewright.checkpoint.config import parse_config
from enginewright.exporters.direct.decoder_architecture import read_architecture
from enginewright.products.aotinductor.decoder import FREQUENCIES, Decoder, tensor_shapes
from enginewright.products.aotinductor.greedy_decoding import GreedyDecoding
from enginewright.products.aotinductor.loaded_engine import CacheShape
from enginewright.products.aotinductor.request import ShapeLimits


class UncompiledEngine:
    """What `LoadedEngine` is to its callers, with the module that would have been compiled."""

    device = "cpu"
    limits = ShapeLimits(batch=2, sequence=4, reach=32)

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        size = decoder.architecture
        self.cache = CacheShape(
            len(size.sliding_windows), size.kv_heads, size.head_dim, torch.float32
        )

    def reach_of(self, tokens: int) -> int:
        return 16 if tokens <= 16 else 32

    def run(self, *inputs: Any) -> torch.Tensor:
        return self._decoder(*inputs)


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(11)
    config = transformers.Qwen3Config(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=40,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=64,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    made = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(0, 0.5)
    return made.eval()


@pytest.fixture(scope="module")
def engine(model: Any) -> UncompiledEngine:
    document = {**model.config.to_dict(), "architectures": [type(model).__name__]}
    architecture = read_architecture(
        parse_config(document, "config.json"), "text-generation-with-past", "config.json"
    )
    decoder = Decoder(architecture, torch.float32).eval()
    state = model.state_dict()
    decoder.load_state_dict(
        {name: state[name] for name in tensor_shapes(architecture)}
        | {FREQUENCIES: torch.from_numpy(architecture.rotary.inverse_frequencies)}
    )
    return UncompiledEngine(decoder)


@pytest.mark.parametrize("block", [1, 5, 100])
def test_tokens_are_those_of_transformers_whatever_is_read_at_a_time(
    model: Any, engine: UncompiledEngine, block: int
):
    # Longer than a call takes, so that it is read in parts.
    prompts = torch.randint(1, 48, (2, 10))
    right = model.generate(prompts, max_new_tokens=12, min_new_tokens=12, do_sample=False)[:, 10:]
    decoding = GreedyDecoding(engine, 2, 32)  # type: ignore[arg-type]
    for _ in range(2):  # what an earlier text left in the cache is not seen
        pieces = list(decoding.generate(prompts, 12, block))
        assert pieces[0].shape == (2, 1)
        assert all(piece.shape[1] <= block for piece in pieces)
        assert torch.cat(pieces, 1).tolist() == right.tolist()


@pytest.mark.parametrize(("rows", "count"), [(1, 4), (2, 23)], ids=["rows", "tokens"])
def test_more_than_the_cache_takes_is_refused(engine: UncompiledEngine, rows: int, count: int):
    decoding = GreedyDecoding(engine, 2, 32)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no room"):
        list(decoding.generate(torch.ones(rows, 10, dtype=torch.int64), count, 8))

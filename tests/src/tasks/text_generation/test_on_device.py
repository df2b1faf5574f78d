"""The comparison that runs on a device, here on the processor: only the place is another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file

from enginewright.device.request import SpeedRequest
from enginewright.device.timing import measure_speed
from enginewright.engines.backend import Array, Held
from enginewright.engines.limits import Limits
from enginewright.engines.tensor import EngineTensor
from enginewright.tasks.interface import Interface
from enginewright.tasks.text_generation import on_device, speed
from enginewright.validation.measurement import Candidate, ReferenceFiles
from enginewright.validation.measurement_request import MeasurementRequest

MODEL = Path(__file__).parents[4] / "models" / "qwen3"
TASK = "text-generation"
LIMITS = Limits(batch=4, sequence=96, total_sequence=96)


class TransformersEngine:
    """An engine without a cache that is transformers itself, in float32, off by `error`."""

    def __init__(self, model: Any, error: float = 0.0) -> None:
        self.model = model
        self.error = error

    def empty(self, name: str, batch: int) -> Held:
        raise NotImplementedError

    def run(
        self, inputs: Mapping[str, Array | Held], outputs: Sequence[str], held: Sequence[str] = ()
    ) -> tuple[Mapping[str, Array], Mapping[str, Held]]:
        assert not held
        with torch.inference_mode():
            logits = self.model(torch.from_numpy(inputs["input_ids"])).logits.numpy()
        return dict.fromkeys(outputs, logits * (1 + self.error)), {}

    def device_bytes(self) -> int | None:
        return None


class GreedyEngine(TransformersEngine):
    """One that takes the likeliest token by itself, the second likeliest each `wrong`th time."""

    def __init__(self, model: Any, wrong: int) -> None:
        super().__init__(model)
        self.wrong = wrong

    def greedy(self, prompts: Array, count: int, block: int) -> Iterator[Array]:
        del block
        for place in range(count):
            with torch.inference_mode():
                logits = self.model(torch.from_numpy(prompts)).logits[:, -1]
            rank = int(self.wrong and place % self.wrong == 0)
            chosen = logits.topk(2).indices[:, rank : rank + 1].numpy()
            prompts = np.concatenate([prompts, chosen], axis=1)
            yield chosen


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(5)
    config = transformers.Qwen3Config(
        vocab_size=1536,
        hidden_size=32,
        intermediate_size=40,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    model = transformers.AutoModelForCausalLM.from_config(config)
    save_file(model.state_dict(), folder / "model.safetensors", {"format": "pt"})
    document = {**config.to_dict(), "architectures": [type(model).__name__]}
    (folder / "config.json").write_text(json.dumps(document))
    text = (MODEL / "heldout.txt").read_text(encoding="utf-8")
    (folder / "heldout.txt").write_text(text[:3000], encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(checkpoint: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(
        checkpoint, attn_implementation="eager"
    ).eval()


def compare(checkpoint: Path, backend: Any) -> Any:
    tokenizer = {"tokenizer.json": MODEL / "tokenizer.json"}
    tensors = (
        EngineTensor("input_ids", "input", "int64", ("batch", "sequence")),
        EngineTensor("logits", "output", "float32", ("batch", "sequence", 1536)),
    )
    candidate = Candidate(Interface("the engine", tensors, LIMITS), backend, tokenizer)
    reference = ReferenceFiles(
        checkpoint / "config.json", (checkpoint / "model.safetensors",), tokenizer
    )
    request = MeasurementRequest(TASK, reference_dtype="float64", max_samples=5)
    return on_device.compare(candidate, reference, checkpoint / "heldout.txt", request)


def test_an_engine_as_exact_as_pytorch_in_its_type_has_the_ratio_one(checkpoint: Path, model: Any):
    found = compare(checkpoint, TransformersEngine(model))
    assert found.eager_dtype == "float32"
    assert 0 < found.eager.relative_error < 1e-5
    assert found.error_ratio == pytest.approx(1, abs=0.3)  # rows side by side add up otherwise
    assert found.generated is None
    total = found.measured.total()
    assert total.relative_error < 1e-5
    assert total.to_json()["reference_perplexity"] > 1


def test_an_engine_that_is_off_by_a_thousandth_is_told_by_its_ratio(checkpoint: Path, model: Any):
    found = compare(checkpoint, TransformersEngine(model, error=1e-3))
    assert found.error_ratio == pytest.approx(1e-3 / found.eager.relative_error, rel=0.01)


@pytest.mark.parametrize(("wrong", "right"), [(0, 256), (4, 192)])
def test_tokens_that_the_reference_would_not_take_are_counted(
    checkpoint: Path, model: Any, wrong: int, right: int
):
    generated = compare(checkpoint, GreedyEngine(model, wrong)).generated
    assert (generated.tokens, generated.as_reference) == (256, right)


def test_the_benchmark_generates_as_many_tokens_as_it_says(model: Any):
    made: list[tuple[int, int]] = []

    class Counting(GreedyEngine):
        def greedy(self, prompts: Array, count: int, block: int) -> Iterator[Array]:
            made.append((len(prompts), count))
            return super().greedy(prompts, count, block)

    backend = Counting(model, 0)
    tensors = (
        EngineTensor("input_ids", "input", "int64", ("batch", "sequence")),
        EngineTensor("logits", "output", "float32", ("batch", "sequence", 1536)),
    )
    interface = Interface("the engine", tensors, LIMITS)
    asked = SpeedRequest((2,), prompt_tokens=4, new_tokens=3, warmup=1, repeats=2)
    generate = speed.generate_with(interface, backend)
    measured = measure_speed(generate, 2, speed.vocabulary_of(interface, backend), asked)
    assert made == [(2, 3), (2, 1), (2, 1), (2, 3), (2, 3)]
    assert len(measured.seconds) == 2
    assert speed.dtype_of(interface, backend) == "float32"

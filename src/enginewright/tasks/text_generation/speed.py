"""Ways to generate text that a benchmark times: the engine's, and those of transformers."""

from __future__ import annotations

import dataclasses
from collections import deque

import numpy as np
import torch

from enginewright.device.timing import Generate
from enginewright.engines.backend import Array, Backend, Greedy
from enginewright.tasks.interface import Interface
from enginewright.tasks.text_generation.decoder import make_decoder
from enginewright.tasks.text_generation.feed import Feeder
from enginewright.validation.measurement import ReferenceFiles
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.reference_model import ReferenceModel


def vocabulary_of(interface: Interface, backend: Backend) -> int:
    found = Feeder(interface, backend).vocabulary
    assert found is not None, "an engine of a language model says its vocabulary"
    return found


def dtype_of(interface: Interface, backend: Backend) -> str:
    """Type of the engine's logits, as PyTorch names it."""
    return Feeder(interface, backend).logits.dtype


def generate_with(interface: Interface, backend: Backend) -> Generate:
    """The likeliest token each time, where the backend takes it, or on the host."""

    def on_device(prompts: Array, count: int) -> None:
        assert isinstance(backend, Greedy)
        deque(backend.greedy(prompts, count, count), maxlen=0)

    def on_host(prompts: Array, count: int) -> None:
        decoder = make_decoder(interface, backend)
        logits = decoder.start(prompts.tolist())
        for _ in range(count - 1):
            logits = decoder.advance(logits.argmax(-1).tolist())

    return on_device if isinstance(backend, Greedy) else on_host


def load_baseline(files: ReferenceFiles, request: MeasurementRequest, dtype: str) -> ReferenceModel:
    """transformers' model in the engine's type, with the attention that it takes by itself."""
    wanted = dataclasses.replace(request, reference_dtype=dtype)  # type: ignore[arg-type]
    return ReferenceModel.load(files, wanted, auto="AutoModelForCausalLM", attention="sdpa")


def generate_with_transformers(model: ReferenceModel, baseline: str) -> Generate:
    """`eager`, or `compiled`: a static cache, for which transformers compiles the decoder."""
    cache = {"cache_implementation": "static"} if baseline == "compiled" else {}

    def generate(prompts: Array, count: int) -> None:
        ids = torch.from_numpy(np.ascontiguousarray(prompts)).to(model.device)
        with torch.inference_mode():
            model.module.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=count,
                min_new_tokens=count,
                do_sample=False,
                **cache,
            )
        torch.cuda.synchronize()

    return generate


def compiled_graphs() -> int:
    """How many graphs torch has compiled in this process: 0 where a baseline was not compiled."""
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])

"""What is exported for each task: the model between named inputs and named outputs.

Attention masks are made here, as one addition that every runtime has, instead of by the library's
own code, whose graph depends on its version and searches the positions for packed sequences.
"""

from __future__ import annotations

from typing import ClassVar

import torch

from enginewright.checkpoint.config import DecoderConfig


def masked_value(dtype: torch.dtype) -> float:
    """What is added to an attention score to mask it.

    Half of the least finite number: the softmax gives zero for it, and a negative score added to
    it stays finite. With the least number itself such a sum is minus infinity in float16, and a
    row in which all is masked becomes NaN.
    """
    return torch.finfo(dtype).min / 2


class TextGeneration(torch.nn.Module):
    """`input_ids` int64 [batch, sequence] to `logits` [batch, sequence, vocab_size].

    Every position attends to itself and all before it: pad on the right and ignore those logits.
    """

    input_names = ("input_ids",)
    output_name = "logits"
    axes: ClassVar = {"input_ids": ("batch", "sequence"), "logits": ("batch", "sequence")}

    def __init__(self, model: torch.nn.Module, config: DecoderConfig) -> None:
        super().__init__()
        self.model = model
        self.config = config
        self.layer_types: list[str] = getattr(model.config, "layer_types", None) or []

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(input_ids.shape[1])
        logits: torch.Tensor = self.model(
            input_ids=input_ids,
            attention_mask=self._masks(positions, next(self.model.parameters()).dtype),
            # One row for each sequence: TensorRT for RTX wants the cosines of the whole batch.
            position_ids=positions[None].expand(input_ids.shape[0], -1),
            use_cache=False,
        ).logits
        return logits

    def _masks(
        self, positions: torch.Tensor, dtype: torch.dtype
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        """Shape [1, 1, sequence, sequence], one for each kind of layer that the model has."""
        distance = positions[:, None] - positions[None, :]
        causal = distance >= 0
        window = self.config.sliding_window
        kinds = {"full_attention": causal}
        if window is not None:
            kinds["sliding_attention"] = causal & (distance < window)
        zero = torch.zeros((), dtype=dtype)
        masks = {
            kind: torch.where(visible, zero, masked_value(dtype))[None, None]
            for kind, visible in kinds.items()
        }
        if self.config.model_type in ("qwen2", "qwen3"):
            return masks
        return masks["full_attention" if window is None else "sliding_attention"]


class FeatureExtraction(torch.nn.Module):
    """Sentence embeddings as sentence-transformers makes them for MiniLM.

    `input_ids` and `attention_mask` int64 [batch, sequence] to `embeddings` float32
    [batch, hidden_size]: the mean over the tokens whose mask is 1, with length 1. A sentence
    without any token gets zeros.
    """

    input_names = ("input_ids", "attention_mask")
    output_name = "embeddings"
    axes: ClassVar = {
        "input_ids": ("batch", "sequence"),
        "attention_mask": ("batch", "sequence"),
        "embeddings": ("batch",),
    }

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        dtype = next(self.model.parameters()).dtype
        batch, sequence = input_ids.shape
        hidden = (1 - attention_mask)[:, None, None, :].to(dtype) * masked_value(dtype)
        # ONNX Runtime's Attention does not broadcast a mask over the queries.
        hidden_mask = hidden.expand(batch, 1, sequence, sequence)
        states = self.model(
            input_ids=input_ids, attention_mask=hidden_mask
        ).last_hidden_state.float()
        weights = attention_mask[:, :, None].float()
        mean = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)

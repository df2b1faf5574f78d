"""Inputs and outputs of a graph that embeds sentences."""

from __future__ import annotations

from enginewright.tasks.signature import Signature, TensorSignature

INPUT_IDS = TensorSignature("input_ids", ("batch", "sequence"))
ATTENTION_MASK = TensorSignature("attention_mask", ("batch", "sequence"))
EMBEDDINGS = TensorSignature("embeddings", ("batch",))

SIGNATURE = Signature((INPUT_IDS, ATTENTION_MASK), EMBEDDINGS)

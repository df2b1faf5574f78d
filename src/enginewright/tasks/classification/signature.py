"""Inputs and outputs of a graph that classifies texts or their tokens."""

from __future__ import annotations

from enginewright.tasks.signature import Signature, TensorSignature

_ROWS = ("batch", "sequence")
INPUT_IDS = TensorSignature("input_ids", _ROWS)
ATTENTION_MASK = TensorSignature("attention_mask", _ROWS)
TOKEN_TYPE_IDS = TensorSignature("token_type_ids", _ROWS)
LOGITS = "logits"


def signature_of(*, with_types: bool, by_token: bool) -> Signature:
    """`with_types`: whether the model tells the two texts of a pair apart by an input."""
    inputs = (INPUT_IDS, ATTENTION_MASK, *((TOKEN_TYPE_IDS,) if with_types else ()))
    return Signature(inputs, TensorSignature(LOGITS, _ROWS if by_token else _ROWS[:1]))

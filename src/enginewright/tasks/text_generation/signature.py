"""Inputs and outputs of a graph that generates text."""

from __future__ import annotations

from enginewright.tasks.signature import Signature, TensorSignature

INPUT_IDS = TensorSignature("input_ids", ("batch", "sequence"))
LOGITS = TensorSignature("logits", ("batch", "sequence"))

ATTENTION_MASK = "attention_mask"
"""[batch, total_sequence]: past tokens and those of this call; 0 where a row is padding."""
POSITION_IDS = "position_ids"
"""[batch, sequence]: of each token in its row, without padding."""
PAST, PRESENT = "past_key_values.", "present."
"""`past_key_values.N.key` [batch, heads, past_sequence, head size] comes out as `present.N.key`."""
PAST_SEQUENCE = "past_sequence"

SIGNATURE = Signature((INPUT_IDS,), LOGITS)
"""Of a graph without a cache; the direct exporter adds the inputs above for one with."""

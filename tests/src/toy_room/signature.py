"""Input and output of the toy."""

from __future__ import annotations

from enginewright.tasks.signature import Signature, TensorSignature

SIGNATURE = Signature(
    (TensorSignature("input_ids", ("batch", "sequence")),), TensorSignature("first", ("batch",))
)

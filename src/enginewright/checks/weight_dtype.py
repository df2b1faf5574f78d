"""The weights have the floating-point type that the model was made for."""

from __future__ import annotations

from collections import Counter
from math import prod

import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.element_type import ELEMENT_TYPES
from enginewright.onnx_model.tensors import all_tensors


def check_weight_dtype(model: onnx.ModelProto, where: str, dtype: str) -> Findings:
    """Most floating-point elements of all tensors must be of `dtype`.

    Some are others on purpose: norms and tables of positions that are computed in float32.
    """
    names = {candidate.onnx: candidate.name for candidate in ELEMENT_TYPES}
    elements: Counter[str] = Counter()
    for held in all_tensors(model):
        if held.tensor.data_type in names:
            elements[names[held.tensor.data_type]] += prod(held.tensor.dims)
    if not elements:
        return Findings()
    actual = max(sorted(elements), key=lambda name: elements[name])
    if actual == dtype:
        return Findings()
    counts = ", ".join(f"{name}: {count} elements" for name, count in sorted(elements.items()))
    fix = "export with the dtype that is wanted"
    what = "the weights have another dtype than the model was made for"
    return Findings((Problem(what, where, dtype, counts, fix),))

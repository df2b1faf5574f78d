"""INT64 constants that an engine with 32-bit indices cannot hold.

Bounds of `Slice` may be huge: "to the end" is written as the greatest number, and readers clamp it.
"""

from __future__ import annotations

import numpy as np
import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.reader import CheckedModel

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
_SLICE_BOUNDS = (1, 2)
_PASSES_VALUES_ON = ("Concat", "Identity", "Reshape", "Squeeze", "Unsqueeze")


def check_int64_constants(checked: CheckedModel) -> Findings:
    """Fail for each constant beyond 32 bits, unless only slices read it as a bound."""
    problems = []
    for constant in checked.constants:
        if constant.tensor.data_type != onnx.TensorProto.INT64:
            continue
        values = onnx.numpy_helper.to_array(constant.tensor)
        outside = values[(values < INT32_MIN) | (values > INT32_MAX)]
        if outside.size and not _is_slice_bound(checked, constant.name, set()):
            problems.append(
                Problem(
                    "a 64-bit constant does not fit into 32 bits",
                    f"{checked.where}, constant `{constant.name}`",
                    f"{INT32_MIN} to {INT32_MAX}, or a bound of a Slice",
                    ", ".join(str(value) for value in np.unique(outside)[:5]),
                    "change the model so that the value is smaller",
                )
            )
    return Findings(tuple(problems))


def _is_slice_bound(checked: CheckedModel, name: str, seen: set[str]) -> bool:
    """Whether all that reads the value are bounds of slices, directly or through a shape."""
    consumers = checked.consumers.get(name, [])
    seen.add(name)
    return bool(consumers) and all(
        (node.op_type == "Slice" and position in _SLICE_BOUNDS)
        or (
            node.op_type in _PASSES_VALUES_ON
            # A value that was seen before was found benign, or the search would have ended.
            and (node.output[0] in seen or _is_slice_bound(checked, node.output[0], seen))
        )
        for node, position in consumers
    )

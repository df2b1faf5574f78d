"""Inputs whose values decide shapes: an optimization profile must give their values too."""

from __future__ import annotations

from enginewright.checks.findings import Findings
from enginewright.onnx_model.reader import CheckedModel

_SHAPE_OPERANDS = {
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Pad": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (2, 3),
    "Slice": (1, 2, 4),
    "Tile": (1,),
    "TopK": (1,),
}
"""Operands whose values decide the shape of the result, by operator."""
_PASSES_VALUES_ON = (
    "Add", "Cast", "Concat", "Div", "Gather", "Identity", "Max", "Min", "Mul", "Reshape",
    "Squeeze", "Sub", "Unsqueeze",
)  # fmt: skip


def check_shape_inputs(checked: CheckedModel) -> Findings:
    """Warn of each input whose values, and not only its shape, decide the shape of a result."""
    initializers = {tensor.name for tensor in checked.model.graph.initializer}
    return Findings(
        warnings=tuple(
            f"{checked.where}: the values of input `{value.name}` decide shapes: optimization "
            "profiles must give its least, optimal and greatest values"
            for value in checked.model.graph.input
            if value.name not in initializers and _decides_shape(checked, value.name, set())
        )
    )


def _decides_shape(checked: CheckedModel, name: str, seen: set[str]) -> bool:
    seen.add(name)
    for node, position in checked.consumers.get(name, []):
        if position in _SHAPE_OPERANDS.get(node.op_type, ()):
            return True
        if node.op_type == "Gather" and position == 1:
            continue  # an index into a table, such as token ids
        passed_on = node.op_type in _PASSES_VALUES_ON and node.output[0] not in seen
        if passed_on and _decides_shape(checked, node.output[0], seen):
            return True
    return False

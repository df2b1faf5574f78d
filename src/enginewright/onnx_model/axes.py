"""The axes of a graph against those that were asked for."""

from __future__ import annotations

from collections.abc import Mapping

from enginewright.errors import Problem, raise_if_any
from enginewright.onnx_model.record import OnnxRecord


def check_axes(
    record: OnnxRecord, axes: Mapping[str, tuple[str, ...]], dynamic: tuple[str, ...]
) -> None:
    """Raise `InputError` where the graph has not kept an axis that was asked to be dynamic.

    `axes` are the names of the leading dimensions of each input and output.
    """
    raise_if_any(
        [
            Problem(
                "an axis that was asked to be dynamic is fixed in the exported graph",
                f"tensor `{tensor.name}`, dimension {position}",
                f"`{axis}`",
                str(tensor.shape[position]),
                "the model's code fixes the size: leave the axis out of `dynamic_axes`",
            )
            for tensor in record.tensors
            for position, axis in enumerate(axes[tensor.name])
            if axis in dynamic and tensor.shape[position] != axis
        ]
    )

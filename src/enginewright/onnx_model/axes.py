"""The axes of a graph against those of its task."""

from __future__ import annotations

from collections.abc import Mapping

from enginewright.errors import Problem, raise_if_any
from enginewright.onnx_model.record import OnnxRecord


def check_axes(record: OnnxRecord, axes: Mapping[str, tuple[str, ...]]) -> None:
    """Raises `InputError` where the graph has fixed the size of a named axis.

    `axes` are the names of the leading dimensions of each input and output.
    """
    raise_if_any(
        [
            Problem(
                "an axis is fixed in the exported graph",
                f"tensor `{tensor.name}`, dimension {position}",
                f"`{axis}`",
                str(tensor.shape[position]),
                'the model\'s code fixes the size: export with `exporter="direct"`',
            )
            for tensor in record.tensors
            for position, axis in enumerate(axes[tensor.name])
            if tensor.shape[position] != axis
        ]
    )

"""The checks of an ONNX model: its graph without the weights, and the weights."""

from __future__ import annotations

from typing import Any, Mapping, Union

from pants_enginewright.models.onnx_model import OnnxModel
from pants_enginewright.steps.action import ActionInput, ActionRequest


def plan_graph_check(
    model: OnnxModel, reader: Union[str, Mapping[str, Any], None] = None
) -> ActionRequest:
    """The step that checks the structure.

    `reader` is what a product reads of ONNX, or its name and version in the library's table.
    """
    return ActionRequest.create(
        "check_graph",
        address=model.address,
        environment="onnx",
        inputs=[
            ActionInput.of("model", model.graph, "model"),
            ActionInput.of("record", model.record),
        ],
        parameters={
            "dynamic_axes": list(model.axes),
            "dtype": model.dtype,
            "reader": reader,
            "length": model.length,
        },
    )


def plan_weights_check(model: OnnxModel) -> ActionRequest:
    """The step that reads the weights once from end to end."""
    return ActionRequest.create(
        "check_weights",
        address=model.address,
        environment="onnx",
        inputs=[
            ActionInput.of("model", model.graph, "model"),
            ActionInput.of("data", model.data, "model"),
        ],
        parameters={"dtype": model.dtype},
    )

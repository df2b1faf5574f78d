"""Initializers of an ONNX graph whose bytes lie in other files."""

from __future__ import annotations

from onnx import ModelProto, TensorProto, helper


def is_external(tensor: TensorProto) -> bool:
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def without_external_tensors(model: ModelProto) -> ModelProto:
    """A copy in which each external initializer of the main graph is an input instead.

    For onnx' checker and inliner, which would open the files, here or not. A model without such an
    initializer is returned as it is.
    """
    if not any(map(is_external, model.graph.initializer)):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    kept = [tensor for tensor in copy.graph.initializer if not is_external(tensor)]
    inputs = {value.name for value in copy.graph.input}
    copy.graph.input.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in model.graph.initializer
        if is_external(tensor) and tensor.name not in inputs
    )
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    return copy

"""Takes out of an exported graph what depends on where and how the exporter ran."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common

from enginewright.passes.transformation import Pass, Transformed

PRODUCER = "enginewright"
_SCOPES = "pkg.torch.onnx.name_scopes"
_WRAPPER = "model."
"""What the module that is traced calls the model."""


class Clean(Pass[ir.Model, None]):
    """Of what depends on the exporter.

    Afterwards initializers have the names of the checkpoint's tensors (without the prefix that the
    exported module added), equal ones exist once, none is unused, and stack traces,
    versions and doc strings are gone.
    """

    def call(self, model: ir.Model) -> Transformed[ir.Model, None]:
        return Transformed(_clean(model), None)


def _clean(model: ir.Model) -> ir.Model:
    _share_tied_weights(model.graph)
    _name_transposed_weights(model.graph)
    passes = ir.passes.Sequential(
        common.RemoveUnusedNodesPass(),
        common.RemoveUnusedFunctionsPass(),  # type: ignore[no-untyped-call]
        common.RemoveUnusedOpsetsPass(),
        common.DeduplicateInitializersPass(),
        common.ClearMetadataAndDocStringPass(),
    )
    model = passes(model).model
    for value in list(model.graph.initializers.values()):
        if value.name is not None and value.name.startswith(_WRAPPER):
            value.name = value.name.removeprefix(_WRAPPER)
    model.producer_name, model.producer_version = PRODUCER, None
    model.domain, model.model_version, model.doc_string = None, None, None
    model.metadata_props.clear()
    model.meta.clear()
    model.graph.name = "main"
    values = [value for node in model.graph.all_nodes() for value in node.outputs]
    for value in [*model.graph.inputs, *model.graph.initializers.values(), *values]:
        _forget_notes(value)
    return model


def _share_tied_weights(graph: ir.Graph) -> None:
    """Where the exporter folded the transpose of an embedding into a copy, transpose it again.

    It does so for the output layer of a model with tied embeddings, when they are small.
    """
    embeddings = [
        value
        for value in graph.initializers.values()
        if any(user.node.op_type == "Gather" and user.idx == 0 for user in value.uses())
    ]
    for value in list(graph.initializers.values()):
        users = list(value.uses())
        if len(users) != 1 or users[0].node.op_type != "MatMul":
            continue
        original = next((item for item in embeddings if _is_transposed(value, item)), None)
        if original is not None:
            transpose = ir.node("Transpose", [original], {"perm": [1, 0]})
            transpose.outputs[0].name = f"{original.name}.transposed"
            graph.insert_before(users[0].node, transpose)
            users[0].node.replace_input_with(users[0].idx, transpose.outputs[0])


def _is_transposed(value: ir.Value, original: ir.Value) -> bool:
    one, two = value.const_value, original.const_value
    if one is None or two is None or len(one.shape) != 2 or one.dtype != two.dtype:
        return False
    if list(one.shape) != list(reversed(two.shape.numpy())):
        return False
    # Compared as bytes: numpy has no equality for every type of ONNX.
    transposed = np.ascontiguousarray(two.numpy().T)
    return transposed.tobytes() == np.ascontiguousarray(one.numpy()).tobytes()


def _name_transposed_weights(graph: ir.Graph) -> None:
    """The exporter folds the transpose of a linear layer's weight and loses its name."""
    for value in list(graph.initializers.values()):
        users = list(value.uses())
        if len(users) != 1 or users[0].node.op_type != "MatMul":
            continue
        scopes = users[0].node.metadata_props.get(_SCOPES, "")
        parts = [part.strip(" '\"[]") for part in scopes.split(",")]
        owners = [
            part for part in parts if part.endswith(("_proj", "dense", "query", "key", "value"))
        ]
        if value.name is not None and value.name.startswith("val_") and owners:
            name = f"{owners[-1]}.weight.transposed"
            if name not in graph.initializers:
                value.name = name


def _forget_notes(value: ir.Value) -> None:
    value.metadata_props.clear()
    value.meta.clear()
    value.doc_string = None
    if value.const_value is not None:
        value.const_value.metadata_props.clear()
        value.const_value.doc_string = None

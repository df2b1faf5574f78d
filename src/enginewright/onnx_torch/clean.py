"""Takes out of an exported graph what depends on where and how the exporter ran."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes import common

PRODUCER = "enginewright"
_SCOPES = "pkg.torch.onnx.name_scopes"


def clean(model: ir.Model, wrapper: str = "model.") -> None:
    """Change `model` in place.

    Afterwards initializers have the names of the checkpoint's tensors (`wrapper` is the prefix
    that the exported module added), equal ones exist once, none is unused, and stack traces,
    versions, doc strings and shapes of inner values are gone.
    """
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
        if value.name is not None and value.name.startswith(wrapper):
            value.name = value.name.removeprefix(wrapper)
    model.producer_name, model.producer_version = PRODUCER, None
    model.domain, model.model_version, model.doc_string = None, None, None
    model.metadata_props.clear()
    model.meta.clear()
    model.graph.name = "main"
    _forget_inner_shapes(model.graph)


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


def _forget_inner_shapes(graph: ir.Graph) -> None:
    outputs = set(graph.outputs)
    for node in graph.all_nodes():
        for value in node.outputs:
            if value not in outputs:
                value.shape, value.type = None, None

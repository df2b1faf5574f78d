"""The graph is valid ONNX, and shape inference gives each value a type and a rank."""

from __future__ import annotations

import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.external_tensors import find_invalidity, first_lines
from enginewright.onnx_model.reader import CheckedModel

STANDARD_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")


def check_structure(checked: CheckedModel) -> Findings:
    """What `onnx.checker` says; node by node types come from `check_shapes`."""
    message = find_invalidity(checked.model)
    if message:
        return Findings((Problem("the graph is not valid ONNX", checked.where, actual=message),))
    return Findings()


def check_shapes(checked: CheckedModel) -> Findings:
    """Values whose type or rank cannot be inferred, and shapes that contradict each other.

    An operator of a custom domain without a function body is only warned about, and what is
    computed from it is left out.
    """
    flat = checked.flat
    try:
        inferred = onnx.shape_inference.infer_shapes(
            flat, check_type=True, strict_mode=True, data_prop=True
        )
    except (
        onnx.shape_inference.InferenceError,
        onnx.checker.ValidationError,
        RuntimeError,
        ValueError,  # an element type that does not exist
    ) as error:
        message = first_lines(error)
        problem = Problem("shapes or types contradict each other", checked.where, actual=message)
        return Findings((problem,))
    return _unknown_values(checked, inferred.graph)


def _unknown_values(checked: CheckedModel, graph: onnx.GraphProto) -> Findings:
    """What inference, whose result `graph` is, could not find out about the values of nodes."""
    values = [*graph.value_info, *graph.input, *graph.output]
    known = {value.name for value in values if _is_known(value.type)}
    known.update(tensor.name for tensor in graph.initializer)
    problems, warnings, opaque = [], [], set()
    for node in graph.node:
        unknown = [name for name in node.output if name and name not in known]
        if not unknown:
            continue
        if node.domain not in STANDARD_DOMAINS:
            warnings.append(
                f"shapes behind {checked.place(node)} of domain `{node.domain}` are not known: "
                "the operator has no function body"
            )
            opaque.update(unknown)
        elif opaque.intersection(node.input):
            opaque.update(unknown)
        else:
            problems.append(
                Problem(
                    "the type or rank of a value cannot be inferred",
                    checked.place(node),
                    "a type and a rank for each output",
                    ", ".join(f"`{name}`" for name in unknown),
                    "add a `value_info` for it, or use operators with known shapes",
                )
            )
    return Findings(tuple(problems), tuple(warnings))


def _is_known(value: onnx.TypeProto) -> bool:
    if not value.HasField("tensor_type"):
        return value.WhichOneof("value") is not None
    return bool(value.tensor_type.elem_type) and value.tensor_type.HasField("shape")

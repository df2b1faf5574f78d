"""Weights of a file that exists, brought to where the checks and transformations look for them."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir
from onnx_ir.passes import common

from enginewright.passes.transformation import Pass, Transformed

LEAST_IR_VERSION = 4
"""The first whose initializers need not be inputs."""
CONSTANT_ELEMENTS = 16
"""Smaller constants stay nodes: shapes, axes, scalars."""


class OwnWeights(Pass[ir.Model, tuple[str, ...]]):
    """Large constants become initializers, and no initializer is an input that may be replaced.

    What nothing reads is taken out; the report has the names.
    """

    def call(self, model: ir.Model) -> Transformed[ir.Model, tuple[str, ...]]:
        lift = common.LiftConstantsToInitializersPass(
            lift_all_constants=True, size_limit=CONSTANT_ELEMENTS
        )
        inner = common.LiftSubgraphInitializersToMainGraphPass()
        model = ir.passes.Sequential(common.RemoveInitializersFromInputsPass(), lift, inner)(
            model
        ).model
        model.ir_version = max(model.ir_version, LEAST_IR_VERSION)
        unused = tuple(_unused(model.graph))
        for name in unused:
            del model.graph.initializers[name]
        return Transformed(model, unused)


def _unused(graph: ir.Graph) -> Iterator[str]:
    for name, value in graph.initializers.items():
        if not value.uses() and not value.is_graph_output():
            yield name

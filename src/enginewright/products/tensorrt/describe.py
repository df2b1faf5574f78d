"""What the products that share the builder add to a package's `engine.json` and README."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginewright.document import decode
from enginewright.engines.build_result import BuildResult
from enginewright.engines.describe import Description, MakeOwn, OwnPart
from enginewright.engines.limits import Limits
from enginewright.engines.readme import ReadmePart
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem
from enginewright.products.tensorrt.plan import PlanTable

Readme = Callable[[Sequence[EngineTensor], PlanTable], ReadmePart]


def describe_plan(readme: Readme) -> MakeOwn:
    """For a plan that was built with a toolchain; raises `InputError` without one."""

    def make(build: BuildResult, wanted: Description) -> OwnPart:
        if wanted.toolchain is None:
            expected = "the toolchain that built the plan"
            raise InputError(Problem("no toolchain", "parameters, toolchain", expected, "none"))
        used = wanted.toolchain
        stated = {**build.own, "cuda": used.cuda, "minimum_driver": used.minimum_driver}
        table = decode(PlanTable, stated, "engine.json, own")
        return OwnPart(table, Limits.of_axes(table.greatest_axes()), readme(build.tensors, table))

    return make

"""Step: write `engine.json` and `README.md` of an ONNX Runtime engine package.

Inputs: `build` (result.json of `build`). Parameters: `engines.describe.Description`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.document import decode
from enginewright.engines import describe
from enginewright.engines.build_result import BuildResult
from enginewright.engines.describe import Description, OwnPart
from enginewright.engines.limits import Limits
from enginewright.products.onnxruntime.product import PRODUCT
from enginewright.products.onnxruntime.readme import readme
from enginewright.products.onnxruntime.table import OnnxRuntimeTable
from enginewright.step import ActionRequest, Result, main


def add_own(build: BuildResult, wanted: Description) -> OwnPart:
    """The graph has no ranges: the model alone limits what may be asked."""
    table = decode(OnnxRuntimeTable, build.own, "result of the build, own")
    return OwnPart(table, Limits(), readme(table, wanted.task))


def run(request: ActionRequest, outputs: Path) -> Result:
    return describe.describe(PRODUCT, add_own, request, outputs)


if __name__ == "__main__":
    main(run)

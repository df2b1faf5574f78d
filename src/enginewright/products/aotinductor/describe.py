"""Step: write `engine.json` and `README.md` of an AOTInductor engine package.

Inputs: `build` (result.json of `build`). Parameters: `engines.describe.Description`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.document import decode
from enginewright.engines import describe
from enginewright.engines.build_result import BuildResult
from enginewright.engines.describe import Description, OwnPart
from enginewright.engines.limits import Limits
from enginewright.products.aotinductor.product import PRODUCT
from enginewright.products.aotinductor.readme import readme
from enginewright.products.aotinductor.table import AotInductorTable
from enginewright.step import ActionRequest, Result, main


def add_own(build: BuildResult, wanted: Description) -> OwnPart:
    table = decode(AotInductorTable, build.own, "result of the build, own")
    most = table.limits
    return OwnPart(table, Limits(most.batch, most.sequence, most.reach), readme(table, wanted.task))


def run(request: ActionRequest, outputs: Path) -> Result:
    return describe.describe(PRODUCT, add_own, request, outputs)


if __name__ == "__main__":
    main(run)

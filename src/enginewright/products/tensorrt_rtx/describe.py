"""Step: write `engine.json` and `README.md` of an engine package.

Inputs: `build` (result.json of `build`). Parameters: `engines.describe.Description`, with the
toolchain.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.engines import describe
from enginewright.products.tensorrt.describe import describe_plan
from enginewright.products.tensorrt_rtx.product import PRODUCT
from enginewright.products.tensorrt_rtx.readme import readme
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    return describe.describe(PRODUCT, describe_plan(readme), request, outputs)


if __name__ == "__main__":
    main(run)

"""Step: write `engine.json` and `README.md` of an engine package.

Inputs: `build` (result.json of `build`). Parameters: see `engines.packaging`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.engines.package_readme import render
from enginewright.engines.packaging import describe
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    build = canonical_json.read_object(request.file("build").path)
    manifest = describe(build, request.parameters)
    canonical_json.write(outputs / "engine.json", manifest.to_json())
    (outputs / "README.md").write_text(render(manifest), encoding="utf-8")
    return {"name": manifest.name, "plan": {"sha256": manifest.plan.sha256}}


if __name__ == "__main__":
    main(run)

"""Step: write `engine.json` and `README.md` of an ONNX Runtime engine package.

Inputs: `build` (result.json of `build`). Parameters: `name`, `task`, `files`
and `inputs` as for an engine with a plan; `size_estimate`, and `length` (the longest context of the
model: `tokens`, and the fields of config.json as its `source`), where there is one.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.products.onnxruntime.manifest import describe
from enginewright.products.onnxruntime.package_readme import render
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    build = canonical_json.read_object(request.file("build").path)
    manifest = describe(build, request.parameters)
    canonical_json.write(outputs / "engine.json", manifest)
    (outputs / "README.md").write_text(render(manifest), encoding="utf-8")
    return {"name": manifest["name"], "model": manifest["model"]}


if __name__ == "__main__":
    main(run)

"""Step: check an engine package: its manifest, its plan and every file that the manifest lists.

Inputs: `plan`, `manifest` (engine.json), `package` (the other files; may be left out).
"""

from __future__ import annotations

from pathlib import Path

from enginewright.engines.manifest import Manifest
from enginewright.engines.package_check import check, match
from enginewright.errors import raise_if_any
from enginewright.kernels.check import kernel_problems
from enginewright.kernels.descriptor import FILE_NAME
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001
    manifest = Manifest.read(request.file("manifest").path)
    package = tuple(file.path for file in request.inputs.get("package", ()))
    problems = check(manifest, request.file("plan").path, package)
    functions = {kernel["path"]: kernel["functions"] for kernel in manifest.kernels}
    for name, path in match(manifest.files, package).items():
        if path.name == FILE_NAME:
            problems += kernel_problems(path.parent, functions.get(name))
    raise_if_any(problems)
    return {
        "name": manifest.name,
        "plan": {"sha256": manifest.plan.sha256},
        "files": sorted(manifest.files),
        "compute_capabilities": list(manifest.compute_capabilities),
    }


if __name__ == "__main__":
    main(run)

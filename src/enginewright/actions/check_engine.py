"""Step: check an engine package: its manifest, its plan and every file that the manifest lists.

Inputs: `plan`, `manifest` (engine.json), `package` (the other files; may be left out).
"""

from __future__ import annotations

from pathlib import Path

from enginewright.engines.manifest import Manifest
from enginewright.engines.package_check import check
from enginewright.errors import raise_if_any
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001
    manifest = Manifest.read(request.file("manifest").path)
    package = tuple(file.path for file in request.inputs.get("package", ()))
    raise_if_any(check(manifest, request.file("plan").path, package))
    return {
        "name": manifest.name,
        "plan": {"sha256": manifest.plan.sha256},
        "files": sorted(manifest.files),
        "compute_capabilities": list(manifest.compute_capabilities),
    }


if __name__ == "__main__":
    main(run)

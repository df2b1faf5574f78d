"""Steps as whoever builds runs them: `request.json` in a folder, and a process there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ran:
    code: int
    printed: str
    errors: str
    outputs: Path

    @property
    def result(self) -> dict[str, Any]:
        return dict(json.loads((self.outputs / "result.json").read_text()))

    @property
    def plan(self) -> bytes:
        return (self.outputs / "engine.plan").read_bytes()


def write_request(
    folder: Path, action: str, inputs: Mapping[str, Iterable[str | Path]], parameters: object
) -> Path:
    """Write and return `request.json`; `inputs` are files by role, relative to the folder."""
    roles = {role: [_promised(folder, path) for path in paths] for role, paths in inputs.items()}
    path = folder / "request.json"
    path.write_text(json.dumps({"action": action, "inputs": roles, "parameters": parameters}))
    return path


def _promised(folder: Path, path: str | Path) -> dict[str, Any]:
    content = (folder / path).read_bytes()
    return {
        "path": str(path),
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
    }


def start(folder: Path, *command: str, **variables: str) -> subprocess.Popen[str]:
    """Start Python with the arguments `command`; no other variables reach it than these."""
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env={"PYTHONPATH": path, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], folder: Path) -> Ran:
    try:
        printed, errors = process.communicate(timeout=600)
    finally:
        process.kill()
    return Ran(process.returncode, printed, errors, folder / "outputs")


def run(folder: Path, *command: str, **variables: str) -> Ran:
    return finish(start(folder, *command, **variables), folder)


def run_module(folder: Path, module: str) -> Ran:
    """Run the step `module`, which `folder` has a request for."""
    return run(folder, "-m", module)

"""TensorRT-LLM engines: compare the engine's release with the runtime's before anything else.

Never run here: the product's wheels are not on the package index. The fields are those of the
config.json that TensorRT-LLM writes beside an engine since release 0.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enginewright.doctor.finding import Finding, Link, Severity


def is_tensorrt_llm_engine(folder: Path) -> bool:
    """Whether the folder is an engine of TensorRT-LLM and not one of this project's packages."""
    return (folder / "config.json").is_file() and not (folder / "engine.json").is_file()


_FIX = "use one TensorRT-LLM release for building and serving, or build the engine again"


def engine_config_findings(document: Mapping[str, Any], runtime: str | None) -> list[Finding]:
    """Findings about an engine's config.json; `runtime` is the server's release, if known."""
    version = document.get("version")
    if isinstance(version, str) and runtime is not None and version != runtime:
        return [
            _error(
                f"the engine was built by TensorRT-LLM {version[:40]}, the runtime is {runtime}",
                "engines load only in the release that built them",
            )
        ]
    if "builder_config" in document:
        return [
            _error(
                "the config has `builder_config`: it was written by a release before 0.6",
                "newer releases read `build_config`, `pretrained_config` and `version`",
            )
        ]
    if "build_config" in document and not isinstance(version, str):
        return [
            _error(
                "the config has `build_config` and no `version`",
                "the release that built the engine is unknown; a server that looks for "
                "`builder_config` is older than the engine",
            )
        ]
    return []


def _error(seen: str, why: str) -> Finding:
    return Finding("engine.tensorrt-llm-version", Link.APPLICATION, Severity.ERROR, seen, why, _FIX)

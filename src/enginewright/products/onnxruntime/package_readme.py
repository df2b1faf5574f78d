"""The README of a package for ONNX Runtime: what it is, and how to run it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enginewright.tasks.registry import find_task


def render(manifest: Mapping[str, Any]) -> str:
    """Markdown for a manifest as `manifest.describe` makes it; equal manifests give equal text."""
    product, model, options = manifest["product"], manifest["model"], manifest["options"]
    chosen = ", ".join(f"{name} {value}" for name, value in sorted(options.items()))
    rows = "".join(
        f"| `{tensor['name']}` | {tensor['mode']} | {tensor['dtype']} | "
        f"[{', '.join(map(str, tensor['shape']))}] |\n"
        for tensor in manifest["tensors"]
    )
    arguments = find_task(manifest["task"], "engine.json, `task`").usage
    return (
        f"# {manifest['name']}\n\n"
        f"An inference engine for {product['name']} {product['version']}, task "
        f"`{manifest['task']}`. It runs on any processor.\n\n"
        f"- `{model['path']}`: {model['size']} bytes, sha256 `{model['sha256']}`; weights that lie "
        "beside it belong to it.\n"
        f"- Options: {chosen}.\n"
        "- `engine.json`: inputs of the build with their hashes, tensors, options.\n"
        f"- Reproducibility: {manifest['reproducibility']}.\n\n"
        "## Tensors\n\n| name | mode | dtype | shape |\n|---|---|---|---|\n"
        f"{rows}\n"
        "## Run it\n\nWith the packages `onnxruntime`, `numpy` and `tokenizers`, and the folder "
        "`src` of enginewright in `PYTHONPATH`, in this folder:\n\n"
        f"    python -m enginewright.run . {arguments}\n"
    )

"""`engine.json` of an ONNX Runtime engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enginewright.document import Document
from enginewright.engines.manifest import BuildInput
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import Problem, raise_if_any

FORMAT = 1
_KNOWN = {
    "name", "task", "source", "files", "inputs", "toolchain", "plugins", "kernels",
    "size_estimate", "length",
}  # fmt: skip


def describe(build: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Join the result of `build_onnxruntime_engine` with the rest of the package.

    `files` of the parameters are those beside the model (tokenizer, generation settings), by path
    in the package; raises `InputError` with all problems.
    """
    problems: list[Problem] = []
    built = Document(build, "result of the build", problems)
    wanted = Document(parameters, "parameters", problems)
    for name in sorted({*parameters} - _KNOWN):
        expected = "one of " + ", ".join(sorted(_KNOWN))
        problems.append(Problem("unknown parameter", f"parameters, {name}", expected))
    product = built.child("product")
    files = {
        name: document.child(name).digest()
        for document in (built.child("files"), wanted.child("files"))
        for name in document.value
    }
    model = built.child("model")
    manifest = {
        "format": FORMAT,
        "name": wanted.text("name"),
        "task": wanted.text("task"),
        "product": {"name": product.text("name"), "version": product.text("version")},
        "model": {"path": model.text("path"), **vars(model.digest())},
        "files": {name: vars(digest) for name, digest in files.items()},
        "tensors": [
            tensor.to_json() for tensor in built.children("tensors", EngineTensor.from_document)
        ],
        "options": dict(built.table("options")),
        "inputs": [item.to_json() for item in wanted.children("inputs", BuildInput.from_document)],
        "length": parameters.get("length"),
        "size_estimate": parameters.get("size_estimate"),
        "reproducibility": built.text("reproducibility"),
    }
    raise_if_any(problems)
    return manifest

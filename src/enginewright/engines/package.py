"""A packaged engine: a folder with `engine.json`, the engine and what serving needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest, verify

PRODUCTS = ("onnxruntime", "tensorrt-rtx")


@dataclass(frozen=True)
class Tensor:
    name: str
    mode: str
    """`input` or `output`."""
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class EnginePackage:
    folder: Path
    name: str
    task: str
    product: str
    """One of `PRODUCTS`."""
    engine: Path
    digest: FileDigest
    tensors: tuple[Tensor, ...]
    compute_capabilities: tuple[str, ...]
    """Of a TensorRT for RTX plan, such as `8.9`; empty otherwise."""
    max_batch: int | None
    max_sequence: int | None
    """Tokens of one call; None where the engine sets no limit."""
    max_total_sequence: int | None
    """Tokens of prompt and answer together."""

    def tensor(self, name: str) -> Tensor | None:
        return next((tensor for tensor in self.tensors if tensor.name == name), None)

    def names(self, mode: str, prefix: str) -> tuple[str, ...]:
        """Inputs or outputs that begin with `prefix`, in the engine's order."""
        return tuple(t.name for t in self.tensors if t.mode == mode and t.name.startswith(prefix))

    def optional_file(self, name: str) -> Path | None:
        path = self.folder / name
        return path if path.is_file() else None

    def verify(self) -> None:
        """Raise `InputError` when the engine is not the one that the manifest promises."""
        verify(self.engine, self.digest, fix="copy or build the package again")


def read_package(folder: Path) -> EnginePackage:
    """Read `engine.json`; raise `InputError` when the folder is no engine package."""
    manifest = folder / "engine.json"
    if not manifest.is_file():
        raise InputError(
            Problem(
                "not an engine package",
                str(folder),
                "a folder with engine.json, as `pants package` makes it",
                "no engine.json",
            )
        )
    document = canonical_json.read_object(manifest)
    product = _text(document.get("product"), "name")
    if product not in PRODUCTS:
        raise InputError(
            Problem(
                "the runner does not know this product",
                f"{manifest}, `product.name`",
                " or ".join(PRODUCTS),
                product or "nothing",
            )
        )
    engine = document.get("plan" if product == "tensorrt-rtx" else "model")
    tensors = document.get("tensors")
    if not isinstance(engine, dict) or not isinstance(tensors, list):
        raise InputError(Problem("engine.json lacks fields", str(manifest), "model, tensors"))
    path = folder / str(engine["path"])
    if not path.is_file():
        raise InputError(Problem("the package lacks its engine", str(path)))
    limits = _limits(document.get("profiles", []), _position_limit(document, folder))
    return EnginePackage(
        folder,
        str(document.get("name", folder.name)),
        str(document.get("task", "")),
        product,
        path,
        FileDigest(engine["sha256"], engine["size"]),
        tuple(Tensor(t["name"], t["mode"], t["dtype"], tuple(t["shape"])) for t in tensors),
        tuple(document.get("compute_capabilities", ())),
        *limits,
    )


def _text(document: Any, key: str) -> str:
    return str(document.get(key, "")) if isinstance(document, dict) else ""


def _limits(
    profiles: list[dict[str, Any]], positions: int | None
) -> tuple[int | None, int | None, int | None]:
    """Largest batch, sequence and total of all profiles; positions limit the total too."""
    largest: dict[str, int] = {}
    for profile in profiles:
        for axis, bounds in profile.get("axes", {}).items():
            largest[axis] = max(largest.get(axis, 0), bounds[-1])
    sequence = largest.get("sequence")
    totals = [n for n in (largest.get("total_sequence", sequence), positions) if n is not None]
    return largest.get("batch"), sequence, min(totals) if totals else None


def _position_limit(manifest: Mapping[str, Any], folder: Path) -> int | None:
    """What model and tokenizer were made for; the least of all that says so."""
    found = [(manifest.get("length") or {}).get("tokens")]
    for name, key in (
        ("config.json", "max_position_embeddings"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        if (folder / name).is_file():
            found.append(canonical_json.read_object(folder / name).get(key))
    # Tokenizers without a limit write 1e30.
    limits = [value for value in found if isinstance(value, int) and 0 < value < 2**31]
    return min(limits, default=None)


def check_task(package: EnginePackage, tasks: tuple[str, ...], option: str) -> None:
    """Raise `InputError` when `option` of the command does not fit the engine's task."""
    if package.task not in tasks:
        expected, actual = f"task {' or '.join(tasks)}", f"task {package.task}"
        what = f"`{option}` does not fit this engine"
        raise InputError(Problem(what, str(package.folder), expected, actual))

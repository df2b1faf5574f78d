"""A packaged engine: a folder with `engine.json`, the engine and what serving needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from enginewright import canonical_json
from enginewright.engines.check import check_files
from enginewright.engines.component import missing_components
from enginewright.engines.limits import Limits
from enginewright.engines.manifest import NAME, FindOwn, Manifest, read_manifest
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem, raise_if_any

_TOKENIZER = "tokenizer_config.json"
_NO_LIMIT = 2**31
"""Tokenizers without a limit write 1e30."""


@dataclass(frozen=True)
class EnginePackage:
    folder: Path
    manifest: Manifest

    @property
    def task(self) -> str:
        return self.manifest.task

    @property
    def tensors(self) -> tuple[EngineTensor, ...]:
        return self.manifest.tensors

    @property
    def limits(self) -> Limits:
        """What the engine and its tokenizer were made for."""
        return self.manifest.limits.within(self._tokenizer_limit())

    def _tokenizer_limit(self) -> int | None:
        path = self.folder / _TOKENIZER
        value = canonical_json.read_object(path).get("model_max_length") if path.is_file() else None
        return value if type(value) is int and 0 < value < _NO_LIMIT else None

    def verify(self) -> None:
        """Raise `InputError` with every file that is absent or not the one of the manifest."""
        faults = check_files(self.folder, self.manifest.files)
        absent = missing_components(self.manifest)
        raise_if_any([*absent, *(fault.problem() for fault in faults)])


def read_package(folder: Path, find_own: FindOwn | None = None) -> EnginePackage:
    """Read `engine.json`; raise `InputError` when the folder is no engine package.

    Without `find_own` the product's own table is taken as it is.
    """
    path = folder / NAME
    if not path.is_file():
        expected = f"a folder with {NAME}, as `pants package` makes it"
        raise InputError(Problem("not an engine package", str(folder), expected, f"no {NAME}"))
    return EnginePackage(folder, read_manifest(path, find_own))

"""Step: put tests and all that they need into parts that are carried to a host with a GPU.

Input: `files`, each under its sha256. Parameters: `Parameters`. Outputs: `kit.json`, `run.py`, and
`part-00`, `part-01`, ...: the files one after the other, cut where a part is full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO

from enginewright import canonical_json
from enginewright.document import encode
from enginewright.schema import Count, Name, Sha256, Size
from enginewright.step import ActionRequest, Result, main

BLOCK = 1 << 20


@dataclass(frozen=True)
class KitTest:
    address: Name
    action: Name
    module: Name
    request: Name
    """Text of `request.json`."""
    inputs: Mapping[str, Sha256]
    """By path in the folder of the test."""


@dataclass(frozen=True)
class Parameters:
    tests: tuple[KitTest, ...]
    library: Mapping[str, Sha256]
    wheels: Mapping[str, Sha256]
    """Those that the kit brings, by file name."""
    locked: Mapping[str, str]
    """Versions of all packages that the tests are locked with."""
    left_out: Mapping[Sha256, str]
    """Files that whoever carries the kit has or makes there, and a path of each."""
    sizes: Mapping[Sha256, Size]
    """Of all files, those left out among them."""
    part_bytes: Count


def run(request: ActionRequest, outputs: Path) -> Result:
    wanted = request.decode(Parameters)
    order = sorted(file.path.name for file in request.files("files"))
    parts = _Parts(outputs, wanted.part_bytes)
    for file in sorted(request.files("files"), key=lambda file: file.path.name):
        file.verify()
        parts.add(file.path)
    parts.close()
    document = {
        "format": 1,
        "parts": parts.names,
        "order": order,
        "files": dict(wanted.sizes),
        "left_out": dict(wanted.left_out),
        "library": dict(wanted.library),
        "wheels": dict(wanted.wheels),
        "locked": dict(wanted.locked),
        "tests": [encode(test) for test in wanted.tests],
    }
    canonical_json.write(outputs / "kit.json", document)
    script = files("enginewright.device").joinpath("run_kit.py").read_text(encoding="utf-8")
    (outputs / "run.py").write_text(script, encoding="utf-8")
    return {"parts": parts.names, "tests": [test.address for test in wanted.tests]}


class _Parts:
    """Files one after the other, in pieces of at most `most` bytes."""

    def __init__(self, folder: Path, most: int) -> None:
        self.names: list[str] = []
        self._folder = folder
        self._most = most
        self._room = 0
        self._stream: IO[bytes] | None = None

    def add(self, path: Path) -> None:
        with path.open("rb") as source:
            while block := source.read(BLOCK):
                self._write(block)

    def _write(self, block: bytes) -> None:
        while block:
            if not self._room:
                self._next()
            assert self._stream is not None
            piece, block = block[: self._room], block[self._room :]
            self._stream.write(piece)
            self._room -= len(piece)

    def _next(self) -> None:
        self.close()
        self.names.append(f"part-{len(self.names):02}")
        self._stream = (self._folder / self.names[-1]).open("wb")
        self._room = self._most

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


if __name__ == "__main__":
    main(run)

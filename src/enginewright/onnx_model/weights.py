"""Reads the tensors of an ONNX model from the files beside it, without copying them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from enginewright.errors import InputError, Problem


@dataclass(frozen=True)
class Place:
    """Where the bytes of an external tensor lie."""

    name: str
    """Of the tensor, for messages."""
    location: str
    """As the graph calls the file."""
    begin: int
    """Offset in bytes."""
    length: int | None
    """Bytes; None: to the end of the file."""


def place_of(tensor: TensorProto) -> Place:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    length = int(entries["length"]) if "length" in entries else None
    return Place(tensor.name, entries["location"], int(entries.get("offset", "0")), length)


class ModelWeights:
    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        """By the name that external data calls them."""
        self._maps: dict[str, NDArray[np.uint8]] = {}

    def read(self, place: Place) -> NDArray[np.uint8]:
        """The stored bytes, a read-only view of the file.

        Raises `InputError` where the file is not there, or too short.
        """
        location = place.location
        if location not in self._maps:
            if location not in self._files:
                known = ", ".join(sorted(self._files)) or "no files"
                raise InputError(
                    Problem(
                        "a file with weights of the model is missing",
                        f"tensor `{place.name}`",
                        location,
                        known,
                    )
                )
            self._maps[location] = np.memmap(self._files[location], np.uint8, mode="r")
        file = self._maps[location]
        end = len(file) if place.length is None else place.begin + place.length
        if end > len(file):
            raise InputError(
                Problem(
                    "the weights end too early",
                    f"{location}, tensor `{place.name}`",
                    f"{end} bytes",
                    f"{len(file)} bytes",
                )
            )
        return file[place.begin : end]

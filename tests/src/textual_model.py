"""Checked models from a few lines of text, and constants of types that the text lacks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx.parser
from numpy.typing import NDArray

from enginewright.onnx_model.reader import CheckedModel

HEADER = '<ir_version: 10, opset_import: ["" : 23, "own" : 1]>\n'


def model(text: str, constants: Mapping[str, NDArray[np.generic]] | None = None) -> CheckedModel:
    """`text` is a graph, and functions after it; `constants` become initializers."""
    proto = onnx.parser.parse_model(HEADER + text)
    for name, array in (constants or {}).items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return CheckedModel(proto, "m")

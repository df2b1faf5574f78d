"""Step: measure an ONNX model in ONNX Runtime against its PyTorch original, on held-out text.

Inputs: `model` (one `.onnx` file and its external data), `config`, `weights` (with their index),
`tokenizer` (with tokenizer.json), `dataset` (one UTF-8 text). Parameters: see
`validation.measurement_request`. Outputs: `measurements.json`, with numbers only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import torch
import transformers

from enginewright import canonical_json
from enginewright.onnx_model.files import find_model
from enginewright.step import ActionRequest, Result, main
from enginewright.validation import held_out_text, language_model, sentence_embedding
from enginewright.validation.measurement_request import FEATURE_EXTRACTION, MeasurementRequest
from enginewright.validation.onnx_model import PROVIDER, OnnxModel
from enginewright.validation.reference_model import ReferenceModel
from enginewright.validation.text_tokenizer import TextTokenizer


def run(request: ActionRequest, outputs: Path) -> Result:
    wanted = MeasurementRequest.decode(request.parameters)
    text = held_out_text.read(request.file("dataset").path)
    tokenizer = TextTokenizer.load([file.path for file in request.files("tokenizer")])
    model = OnnxModel.load(
        find_model([file.path for file in request.files("model")]), wanted.threads
    )
    reference = ReferenceModel.load(
        request.file("config").path,
        tuple(file.path for file in request.files("weights")),
        wanted.task,
        wanted.reference_dtype,
        wanted.threads,
    )
    if wanted.task == FEATURE_EXTRACTION:
        numbers = sentence_embedding.measure(
            model,
            reference,
            text,
            lambda line: tokenizer.encode_sentence(line, wanted.max_sequence),
            wanted,
        )
    else:
        tokens = tokenizer.encode_text(text)
        numbers = language_model.measure(model, reference, tokens, wanted)
    measurements = {
        "task": wanted.task,
        "reference": {"library": "PyTorch", "dtype": wanted.reference_dtype, "device": "cpu"},
        "candidate": {"provider": PROVIDER, "arithmetic": model.arithmetic},
        "versions": {
            "numpy": np.__version__,
            "onnxruntime": onnxruntime.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        **numbers,
    }
    canonical_json.write(outputs / "measurements.json", measurements)
    return {"total": measurements["total"]}


if __name__ == "__main__":
    main(run)

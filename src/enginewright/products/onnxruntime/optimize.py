"""Optimizes a model with ONNX Runtime and saves what it would have run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import onnxruntime  # type: ignore[import-untyped]

from enginewright.document import encode
from enginewright.dtype import BY_ONNXRUNTIME
from enginewright.engines.build_result import BuildResult, ProductVersion
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.products.onnxruntime.operators import register_operators
from enginewright.products.onnxruntime.options import (
    ACCURACIES,
    OPTIMIZATION_LEVELS,
    PROVIDERS,
    OnnxRuntimeOptions,
)

MODEL_NAME = "model.onnx"
DATA_NAME = "model.onnx.data"
OPERATORS_NAME = "operators.so"
EXTERNAL_FROM_BYTES = 1024


def optimize(
    model: Path, folder: Path, options: OnnxRuntimeOptions, operators: Path | None = None
) -> BuildResult:
    """Write `model.onnx` and, for larger weights, `model.onnx.data` to `folder`.

    With a library of `operators`, nodes of our domain keep their kernels, and the library is
    written beside the model, which then needs it; without one, the functions' meaning takes their
    place.

    Raises `InputError` when the provider is not in this ONNX Runtime, lacks a kernel that the
    model needs, or when the model cannot be loaded.
    """
    provider = PROVIDERS[options.provider]
    available = onnxruntime.get_available_providers()
    if provider not in available:
        raise InputError(
            Problem(
                "this ONNX Runtime does not have the provider",
                "parameter `provider`",
                ", ".join(available),
                provider,
            )
        )
    settings = _settings(folder, options)
    if operators is not None:
        shutil.copyfile(operators, folder / OPERATORS_NAME)
        register_operators(settings, folder / OPERATORS_NAME)
    session = _session(model, settings, provider)
    if session.get_providers()[0] != provider:
        active = ", ".join(session.get_providers())
        raise InputError(
            Problem("ONNX Runtime fell back to another provider", "", provider, active)
        )
    candidates = (MODEL_NAME, DATA_NAME, OPERATORS_NAME)
    names = [name for name in candidates if (folder / name).exists()]
    return BuildResult(
        ProductVersion("onnxruntime", onnxruntime.__version__),
        {name: FileDigest.of(folder / name) for name in names},
        (
            *(_describe(value, "input") for value in session.get_inputs()),
            *(_describe(value, "output") for value in session.get_outputs()),
        ),
        options.reproducibility,
        {
            "model": MODEL_NAME,
            "options": encode(options),
            "operators": None if operators is None else OPERATORS_NAME,
        },
    )


def _settings(folder: Path, options: OnnxRuntimeOptions) -> Any:
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    level = OPTIMIZATION_LEVELS[options.optimization_level]
    settings.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    settings.optimized_model_filepath = str(folder / MODEL_NAME)
    # One thread: sums of folded constants must not depend on the number of processors.
    settings.intra_op_num_threads = 1
    for key, value in (
        ("session.optimized_model_external_initializers_file_name", DATA_NAME),
        (
            "session.optimized_model_external_initializers_min_size_in_bytes",
            str(EXTERNAL_FROM_BYTES),
        ),
        ("session.qdq_matmulnbits_accuracy_level", ACCURACIES[options.quantized_matmul]),
        # Packed weights have the layout of this host's processor.
        ("session.disable_prepacking", "1"),
    ):
        settings.add_session_config_entry(key, value)
    return settings


def _session(model: Path, settings: Any, provider: str) -> Any:
    try:
        return onnxruntime.InferenceSession(str(model), settings, providers=[provider])
    except Exception as error:  # the classes of ONNX Runtime's errors have no common base
        text = str(error)
        missing_kernel = "NOT_IMPLEMENTED" in text
        raise InputError(
            Problem(
                "the provider has no kernel for a node of the model"
                if missing_kernel
                else "ONNX Runtime cannot load the model",
                model.name,
                actual=text.splitlines()[0][:500],
                fix='the CPU provider has no bfloat16 arithmetic: export with dtype="float32"'
                if missing_kernel
                else "",
            )
        ) from error


def _describe(value: Any, mode: Literal["input", "output"]) -> EngineTensor:
    known = BY_ONNXRUNTIME.get(value.type)  # texts are no numbers
    dtype = value.type.removeprefix("tensor(").removesuffix(")") if known is None else known.name
    shape = (
        # A dynamic axis without a name is None.
        f"{value.name}:{index}" if dim is None else dim
        for index, dim in enumerate(value.shape)
    )
    return EngineTensor(value.name, mode, dtype, tuple(shape))

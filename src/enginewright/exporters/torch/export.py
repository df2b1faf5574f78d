"""From a loaded model to an ONNX graph, with the exporter of torch."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import onnx_ir as ir
import torch

from enginewright.checkpoint.config import Config, DecoderConfig, EncoderConfig
from enginewright.errors import InputError, Problem
from enginewright.exporters.torch.exact_rotary import use_exact_rotary
from enginewright.exporters.torch.spec import ExportSpec
from enginewright.exporters.torch.task_modules import FeatureExtraction, TextGeneration

EXAMPLE_SIZES = {"batch": 2, "sequence": 7}
"""Sizes while tracing: not 1, which torch would take for a constant."""
ROPE_TYPES = ("default", "linear", "yarn", "llama3")


def check_task(config: Config, task: str) -> None:
    """Raise `InputError` when a model of `config` cannot do the task; needs no weights."""
    if task == "text-generation" and isinstance(config, DecoderConfig):
        if config.architecture.endswith("ForCausalLM"):
            _check_rope(config)
            return
    elif task == "feature-extraction" and isinstance(config, EncoderConfig):
        return
    raise InputError(
        Problem(
            "the model cannot do the task",
            "parameter `task`",
            "text-generation for a `...ForCausalLM`, feature-extraction for a `BertModel`",
            f"{task} for `{config.architecture}`",
        )
    )


def task_module(model: torch.nn.Module, config: Config) -> TextGeneration | FeatureExtraction:
    """The module that is exported, of a config that `check_task` took."""
    if isinstance(config, DecoderConfig):
        return TextGeneration(model, config)
    return FeatureExtraction(model)


def _check_rope(config: DecoderConfig) -> None:
    if config.rope.rope_type not in ROPE_TYPES:
        raise InputError(
            Problem(
                "this rope scaling cannot be exported",
                "config.json, `rope_type` of `rope_parameters` or `rope_scaling`",
                ", ".join(ROPE_TYPES),
                config.rope.rope_type,
                "no exporter has it; take a checkpoint with one of these scalings",
            )
        )


def export(
    module: TextGeneration | FeatureExtraction, config: Config, spec: ExportSpec
) -> ir.Model:
    """Trace `module`; axes of the inputs are named, and dynamic where `spec` says so.

    Changes the rotary embeddings of `module`, see `exact_rotary`.
    """
    limit = getattr(config, "max_position_embeddings", None)
    check_lengths(spec, limit)
    if isinstance(module, TextGeneration):
        use_exact_rotary(module.model, module.config, spec.static_axes.get("sequence"))
    sizes = {**EXAMPLE_SIZES, **spec.static_axes}
    dimensions: dict[str, Any] = {
        "batch": torch.export.Dim("batch"),
        "sequence": torch.export.Dim("sequence", max=limit),
    }
    axes = {
        position: dimensions[axis]
        for position, axis in enumerate(("batch", "sequence"))
        if axis in spec.dynamic_axes
    }
    names = list(module.input_names)
    # One tensor each: given the same one twice, torch traces the model with one input for both.
    shape = (sizes["batch"], sizes["sequence"])
    examples = tuple(torch.ones(shape, dtype=torch.int64) for _ in names)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module,
            examples,
            dynamo=True,
            opset_version=spec.opset,
            input_names=names,
            output_names=[module.output_name],
            dynamic_shapes=dict.fromkeys(names, axes),
            verbose=False,
        )
    assert program is not None
    return program.model


def check_lengths(spec: ExportSpec, limit: int | None) -> None:
    """Raise `InputError` where a fixed sequence is longer than `limit` tokens; None is no limit."""
    length = spec.static_axes.get("sequence")
    if length is not None and limit is not None and length > limit:
        raise InputError(
            Problem(
                "the sequence is longer than the model's positions",
                "parameter `static_axes.sequence`",
                f"at most {limit}, `max_position_embeddings` of config.json",
                str(length),
            )
        )

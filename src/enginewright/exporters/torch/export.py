"""From a loaded model to an ONNX graph, with the exporter of torch."""

from __future__ import annotations

import logging
import warnings
from typing import Any, Protocol

import onnx_ir as ir
import torch

from enginewright.checkpoint.config import Config, DecoderConfig, OtherConfig
from enginewright.checkpoint.embedding import EmbeddingDescription
from enginewright.checkpoint.exportable import check_exportable, is_limited
from enginewright.errors import InputError, Problem
from enginewright.exporters.torch.exact_rotary import use_exact_rotary
from enginewright.exporters.torch.spec import ExportSpec
from enginewright.tasks.registry import Task
from enginewright.tasks.signature import Signature, TensorSignature

EXAMPLE_SIZES = {"batch": 2, "sequence": 7}
"""Sizes while tracing: not 1, which torch would take for a constant."""


class TaskModule(Protocol):
    """What a room's `torch_module.make` gives, beside being a `torch.nn.Module`."""

    signature: Signature
    model: torch.nn.Module
    dense: torch.nn.ModuleList
    """Layers after the pooling, of a task with a recipe for embeddings; others lack it."""


def check_task(config: Config, task: Task) -> None:
    """Raise `InputError` when a model of `config` cannot do the task; needs no weights."""
    if task.has_cache:
        expected, fix = "a task without a KV cache", 'set `exporter="direct"`, or take another task'
        where = "parameter `task`"
        raise InputError(Problem("torch traces no KV cache", where, expected, task.name, fix))
    check_exportable(config, task.name)
    if not is_limited(task.name):  # its room says what it takes
        task.part("torch_module").check(config, task.name)


def task_module(
    model: torch.nn.Module, config: Config, task: Task, embedding: EmbeddingDescription
) -> TaskModule:
    """The module that is exported, of a config that `check_task` took.

    Raises `InputError` where the task needs a recipe for embeddings and there is none.
    """
    recipe = (embedding,) if task.has_recipe else ()
    module: TaskModule = task.part("torch_module").make(model, config, *recipe)
    return module


def export(
    module: TaskModule, config: Config, spec: ExportSpec, limit: int | None = None
) -> ir.Model:
    """Trace `module`; all axes of the inputs are named and dynamic.

    `limit` is the longest sequence in tokens; None: not known. Changes the rotary embeddings of
    `module`, see `exact_rotary`. Raises `InputError` where torch cannot trace a model whose family
    is not known.
    """
    if isinstance(config, DecoderConfig):
        use_exact_rotary(module.model, config)
    dimensions: dict[str, Any] = {
        axis: torch.export.Dim(axis, max=limit if axis == "sequence" else None)
        for axis in module.signature.axis_names()
    }
    inputs = module.signature.inputs
    # One tensor each: given the same one twice, torch traces the model with one input for both.
    examples = tuple(
        torch.ones(
            [EXAMPLE_SIZES[axis] for axis in tensor.axes] + [*tensor.sizes], dtype=_dtype(tensor)
        )
        for tensor in inputs
    )
    dynamic = {
        tensor.name: {position: dimensions[axis] for position, axis in enumerate(tensor.axes)}
        for tensor in inputs
    }
    assert isinstance(module, torch.nn.Module)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.onnx.export(
                module,
                examples,
                dynamo=True,
                opset_version=spec.opset,
                input_names=list(dynamic),
                output_names=[module.signature.output.name],
                dynamic_shapes=dynamic,
                verbose=False,
            )
        except Exception as error:  # whatever the model's code and torch make of each other
            if not isinstance(config, OtherConfig):
                raise
            raise InputError(_untraceable(config, error)) from error
    assert program is not None
    return program.model


def _untraceable(config: OtherConfig, error: Exception) -> Problem:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return Problem(
        "torch cannot trace this architecture in the generic form",
        "config.json, `architectures`",
        "a class that takes the task's inputs alone, with axes of any size",
        f"`{config.architecture}`: {type(cause).__name__}: {' '.join(str(cause).split())[:300]}",
        "export it elsewhere, and take the file in with `onnx_file`",
    )


def _dtype(tensor: TensorSignature) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, tensor.dtype)
    return dtype

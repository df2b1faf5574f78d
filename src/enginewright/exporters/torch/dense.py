"""Dense layers after a pooling: `models.Dense` of sentence-transformers 5."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file

from enginewright.checkpoint.embedding import DenseLayer
from enginewright.errors import InputError, Problem

WEIGHT, BIAS = "linear.weight", "linear.bias"


def load_dense(layer: DenseLayer, files: Mapping[str, Path]) -> torch.nn.Module:
    """With its weights as float32; raises `InputError` where they are not those of its config."""
    tensors = load_file(files[layer.weights])
    linear = torch.nn.Linear(layer.inputs, layer.outputs, bias=layer.bias)
    expected = {WEIGHT: list(linear.weight.shape)}
    if layer.bias:
        expected[BIAS] = list(linear.bias.shape)
    actual = {name: list(tensor.shape) for name, tensor in tensors.items()}
    if actual != expected:
        what = "the weights of a dense layer are not those of its config"
        raise InputError(Problem(what, layer.weights, str(expected), str(actual)))
    linear.weight.data = tensors[WEIGHT].float()
    if layer.bias:
        linear.bias.data = tensors[BIAS].float()
    activation: torch.nn.Module = getattr(torch.nn, layer.activation)()
    return torch.nn.Sequential(linear, activation).eval().requires_grad_(False)

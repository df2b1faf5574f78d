"""An ONNX file parsed into a network of the builder, and its inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem
from enginewright.onnx_model.record import Dim, OnnxRecord, TensorRecord
from enginewright.products.tensorrt.builder_log import BuilderLog
from enginewright.products.tensorrt.profile_resolution import named_shape

# Names of the builder's data types -> the names that engine.json uses (those of numpy, ml_dtypes).
_DTYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "BF16": "bfloat16",
    "INT8": "int8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
    "UINT8": "uint8",
    "FP8": "float8_e4m3fn",
    "INT4": "int4",
    "FP4": "float4_e2m1fn",
    "E8M0": "float8_e8m0fnu",
}


@dataclass(frozen=True)
class ParsedNetwork:
    network: Any
    parser: Any
    """Kept alive: it owns the weights that the network points to."""
    record: OnnxRecord

    @property
    def inputs(self) -> tuple[TensorRecord, ...]:
        """Inputs with the dims that the builder sees, and the names of the file."""
        return tuple(
            _merge(self.network.get_input(i), self.record.inputs)
            for i in range(self.network.num_inputs)
        )

    def tensors(self) -> tuple[EngineTensor, ...]:
        """Inputs, then outputs, in the order of the network."""
        return tuple(self._tensors())

    def shape_tensors(self) -> tuple[str, ...]:
        """Inputs whose values decide shapes."""
        inputs = [self.network.get_input(i) for i in range(self.network.num_inputs)]
        return tuple(tensor.name for tensor in inputs if tensor.is_shape_tensor)

    def _tensors(self) -> Iterator[EngineTensor]:
        network = self.network
        sides: tuple[tuple[Literal["input", "output"], int, Any, Any], ...] = (
            ("input", network.num_inputs, network.get_input, self.record.inputs),
            ("output", network.num_outputs, network.get_output, self.record.outputs),
        )
        for mode, count, get, records in sides:
            for index in range(count):
                tensor = get(index)
                merged = _merge(tensor, records)
                yield EngineTensor(tensor.name, mode, merged.dtype, named_shape(merged))


def _merge(tensor: Any, records: tuple[TensorRecord, ...]) -> TensorRecord:
    """Dims of the builder where it knows the size, else the axis names of the ONNX file."""
    named = {record.name: record.shape for record in records}.get(tensor.name, ())
    dims: list[Dim] = []
    for index, size in enumerate(tuple(tensor.shape)):
        name = named[index] if index < len(named) else None
        dims.append(size if size >= 0 else (name if isinstance(name, str) else None))
    dtype = _DTYPES.get(tensor.dtype.name, tensor.dtype.name.lower())
    return TensorRecord(tensor.name, dtype, tuple(dims))


def parse(
    trt: Any, builder: Any, logger: Any, log: BuilderLog, model: Path, record: OnnxRecord
) -> ParsedNetwork:
    """Parse `model`, with its external data beside it.

    Raises `InputError` with every node that the product does not take.
    """
    # Strongly typed is the only kind in TensorRT for RTX and in TensorRT 11; the flag is for 10.
    flags = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    network = builder.create_network(flags)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(str(model)):
        errors = [parser.get_error(index) for index in range(parser.num_errors)]
        problems = [_node_problem(model, error) for error in errors if error.node_operator()]
        raise InputError(problems or _model_problem(model, log))
    _allow_decomposition(trt, network)
    return ParsedNetwork(network, parser, record)


def _allow_decomposition(trt: Any, network: Any) -> None:
    """Let attention be made of other operators where the product has no kernel for its shape.

    The builder refuses it otherwise (seen with up to three heads). Where there is a kernel, the
    plan is the same with and without.
    """
    attention = getattr(trt.LayerType, "ATTENTION_OUTPUT", None)
    if attention is None:
        return
    for layer in (network.get_layer(index) for index in range(network.num_layers)):
        if layer.type == attention:
            layer.__class__ = trt.IAttentionOutputLayer  # how the bindings get at a kind's own part
            layer.attention.decomposable = True


def _model_problem(model: Path, log: BuilderLog) -> Problem:
    """Not the fault of a node, such as weights that are not there; the log has the reasons."""
    reasons = "; ".join(" ".join(message.split()) for message in log.errors)
    return Problem(
        "the builder cannot read the model",
        str(model),
        "a graph with all of its external data beside it",
        reasons or "no message",
    )


def _node_problem(model: Path, error: Any) -> Problem:
    operator, name = error.node_operator(), error.node_name()
    node = f"node {error.node()} `{name}`" if name else f"node {error.node()} (without a name)"
    return Problem(
        f"the builder does not take operator `{operator}`",
        f"{model}, {node}",
        "an operator and attributes that the product supports",
        f"{' '.join(error.desc().split())} ({error.func()})",
    )

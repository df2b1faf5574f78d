"""Step: the ONNX graph of a decoder from its config and the layout of its weights.

Inputs: `config` (config.json) and `descriptor` (checkpoint.json). The weights themselves are no
input: changing their bytes leaves this step's result as it is. Outputs: `onnx.json` and
`model/model.onnx`, whose external data are the safetensors files that belong beside it: those of
the checkpoint where the dtype matches (`converted` false in the result), else those that
`convert_weights` makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from enginewright import canonical_json
from enginewright.checkpoint.config import parse_config
from enginewright.dtype import COMPUTED
from enginewright.errors import Problem, raise_if_any
from enginewright.exporters.direct.decoder_architecture import (
    ChosenWeights,
    choose_weights,
    read_architecture,
)
from enginewright.exporters.direct.decoder_graph import GraphOptions, decoder_model
from enginewright.exporters.direct.weight_layout import (
    ExternalTensor,
    converted_layout,
    is_floating,
    read_layout,
)
from enginewright.exporters.opsets import OPSETS
from enginewright.onnx_model.element_type import ELEMENT_TYPES, element_type
from enginewright.onnx_model.writing import write_graph
from enginewright.schema import one_of
from enginewright.step import ActionRequest, Result, main
from enginewright.tasks.registry import TASKS


def decoder_tasks() -> list[str]:
    return sorted(task.name for task in TASKS.values() if task.is_decoder)


@dataclass(frozen=True)
class Parameters:
    task: Annotated[str, one_of(decoder_tasks)]
    opset: Annotated[int, one_of(OPSETS["direct"])]
    dtype: Annotated[str, one_of(COMPUTED)]
    logits: Literal["all", "last"] = "all"


def run(request: ActionRequest, outputs: Path) -> Result:
    parameters = request.decode(Parameters)
    config, descriptor = request.file("config"), request.file("descriptor")
    config.verify()
    descriptor.verify()
    where = config.path.name
    content = canonical_json.read_object(config.path)
    architecture = read_architecture(parse_config(content, where), parameters.task, where)
    stored = read_layout(canonical_json.read_object(descriptor.path))
    chosen = choose_weights(architecture, stored, descriptor.path.name)
    tensors = tuple(chosen.tensors.values())
    _check_floating(tensors)
    target = element_type(parameters.dtype, "parameter `dtype`")
    converted = any(tensor.dtype != target.safetensors for tensor in tensors)
    if converted:
        files = converted_layout(stored, target)
        by_name = {tensor.name: tensor for file in files for tensor in file.tensors}
        held = {name: by_name[name] for name in chosen.tensors}
        chosen = ChosenWeights(held, chosen.embedding, chosen.head)
    options = GraphOptions(
        parameters.opset,
        target,
        with_past=TASKS[parameters.task].has_cache,
        last_logits_only=parameters.logits == "last",
        # TensorRT for RTX 1.7 has no float32 kernel for the operator and refuses it.
        attention_operator=target.name != "float32",
    )
    model = decoder_model(architecture, chosen, options)
    write_graph(model, outputs)
    return {
        "converted": converted,
        "dtype": target.name,
        "task": parameters.task,
        "logits": parameters.logits,
        "nodes": len(model.graph.node),
        "warnings": [],
        "reproducibility": "bit-identical",
    }


def _check_floating(tensors: tuple[ExternalTensor, ...]) -> None:
    valid = ", ".join(candidate.safetensors for candidate in ELEMENT_TYPES)
    raise_if_any(
        [
            Problem(
                "a weight has a type that cannot be exported",
                f"checkpoint.json, `{tensor.name}`",
                valid,
                tensor.dtype,
            )
            for tensor in tensors
            if not is_floating(tensor)
        ]
    )


if __name__ == "__main__":
    main(run)

"""What the graph of a dense decoder depends on, taken from its config and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enginewright.checkpoint.config import Config, DecoderConfig
from enginewright.checkpoint.exportable import export_problems
from enginewright.checkpoint.layers import Layer
from enginewright.checkpoint.tensor_layout import expected_tensors
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.exporters.direct.rotary_frequencies import RotaryEmbedding, rotary_of
from enginewright.families.family import DecoderNames

if TYPE_CHECKING:
    # Its module needs onnx, and not all who read an architecture have it.
    from enginewright.exporters.direct.weight_layout import ExternalTensor

USE_TORCH = 'use exporter="torch" for this checkpoint'


@dataclass(frozen=True)
class DecoderArchitecture:
    family: str
    vocabulary: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    rms_norm_eps: float
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    qk_norm: bool
    """Queries and keys are normalized, each head on its own."""
    tied: bool
    """The config takes the transposed embedding table for the output head."""
    rotary: RotaryEmbedding
    layers: tuple[Layer, ...]
    names: DecoderNames
    tensor_shapes: Mapping[str, tuple[int, ...]]
    """Every tensor that the graph needs, with the shape that it must have."""
    optional_shapes: Mapping[str, tuple[int, ...]]
    """Tensors that count where they are stored: the head of tied embeddings."""

    @property
    def sliding_windows(self) -> tuple[int | None, ...]:
        """One a layer: how many keys it sees, its own included; None is all."""
        return tuple(layer.window for layer in self.layers)


@dataclass(frozen=True)
class ChosenWeights:
    """The tensors that the graph reads; raises `KeyError` for another name."""

    tensors: Mapping[str, ExternalTensor]
    """By the name that the class has for them."""
    embedding: str
    """Name of the embedding table: of the head where only that is stored."""
    head: str
    """Name of the output head: of the embedding table where none is stored."""


def read_architecture(config: Config, task: str, where: str) -> DecoderArchitecture:
    """Raise `InputError` with all that this exporter cannot express; `where` names the file."""
    problems = export_problems(config, task)
    if not isinstance(config, DecoderConfig):
        # No task of decoders has another class in its list.
        raise InputError(problems or Problem("not a decoder", where, actual=config.architecture))
    raise_if_any([*problems, *_unsupported(config, where)])
    layout = expected_tensors(config)
    assert layout is not None  # for the type checker: only for quantized checkpoints, see above
    return DecoderArchitecture(
        family=config.model_type,
        vocabulary=config.vocab_size,
        hidden=config.hidden_size,
        intermediate=config.intermediate_size,
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
        rms_norm_eps=config.rms_norm_eps,
        qkv_bias=config.attention_bias,
        output_bias=config.output_bias,
        mlp_bias=config.mlp_bias,
        qk_norm=config.family.qk_norm,
        tied=config.tie_word_embeddings,
        rotary=rotary_of(config, config.head_dim),
        layers=config.layers,
        names=config.names,
        tensor_shapes=layout.required,
        optional_shapes=layout.optional,
    )


def _unsupported(config: DecoderConfig, where: str) -> list[Problem]:
    problems = []
    if config.hidden_act not in ("silu", "swish"):
        problems.append(
            Problem(
                "the direct exporter does not know this activation",
                f"{where}, `hidden_act`",
                "silu",
                config.hidden_act,
                USE_TORCH,
            )
        )
    if config.rope.partial != 1:
        problems.append(
            Problem(
                "the direct exporter rotates whole heads only",
                f"{where}, `partial_rotary_factor`",
                "1.0",
                repr(config.rope.partial),
                USE_TORCH,
            )
        )
    return problems


def choose_weights(
    architecture: DecoderArchitecture, tensors: Sequence[ExternalTensor], where: str
) -> ChosenWeights:
    """The tensors that the graph reads; raise `InputError` with all that do not fit.

    A stored head counts, tied or not, as in transformers 5; where the config ties them, one of head
    and embedding is enough.
    """
    found = {tensor.name: tensor for tensor in tensors}
    names, shapes = architecture.names, dict(architecture.tensor_shapes)
    shapes.update(architecture.optional_shapes)
    table, output = f"{names.embedding}.weight", f"{names.head}.weight"
    embedding, head = table, output
    if architecture.tied:
        embedding = table if table in found else output
        head = output if output in found else embedding
    needed = sorted({*shapes} - {table, output} | {embedding, head})
    problems = []
    for name in needed:
        shape, tensor = shapes[name], found.get(name)
        if tensor is None:
            problems.append(
                Problem("the checkpoint lacks a tensor", f"{where}, `{name}`", f"shape {shape}")
            )
        elif tensor.shape != shape:
            problems.append(
                Problem(
                    "a tensor does not have the shape that the config asks for",
                    f"{where}, `{name}`",
                    f"shape {shape}",
                    f"shape {tensor.shape}",
                )
            )
    raise_if_any(problems)
    return ChosenWeights({name: found[name] for name in needed}, embedding, head)

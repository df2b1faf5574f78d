"""What the graph of a dense decoder depends on, taken from its config and checked.

Facts of the families are those of the transformers library 5 (`modeling_*.py` of each family).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enginewright.checkpoint.config import ARCHITECTURES, DecoderConfig, parse_config
from enginewright.checkpoint.families import expected_tensors
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.exporters.direct.rotary_frequencies import RotaryEmbedding, rotary_of
from enginewright.exporters.direct.weight_layout import ExternalTensor

SUPPORTED = tuple(sorted(name for name in ARCHITECTURES if name.endswith("ForCausalLM")))
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
    """Queries and keys are normalized a head, as Qwen3 does."""
    tied: bool
    """The output head is the transposed embedding table."""
    rotary: RotaryEmbedding
    sliding_windows: tuple[int | None, ...]
    """One a layer: how many keys it sees, its own included; None is all."""
    tensor_shapes: Mapping[str, tuple[int, ...]]
    """Every tensor that the graph reads, with the shape that it must have."""


def read_architecture(document: Mapping[str, Any], where: str) -> DecoderArchitecture:
    """Check `config.json`; raise `InputError` with all that this exporter cannot express."""
    names = document.get("architectures")
    if isinstance(names, list) and names and names[0] not in SUPPORTED:
        raise InputError(
            Problem(
                f"the direct exporter does not know the architecture `{names[0]}`",
                f"{where}, `architectures`",
                ", ".join(SUPPORTED),
                str(names[0]),
                "no exporter knows another decoder",
            )
        )
    config = parse_config(document, where)
    if not isinstance(config, DecoderConfig):
        raise InputError(Problem("not a decoder", where, ", ".join(SUPPORTED), config.model_type))
    problems = _unsupported(config, document, where)
    try:
        rotary = rotary_of(config, config.head_dim)
    except InputError as error:
        raise InputError([*problems, *error.problems]) from error
    raise_if_any(problems)
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
        qk_norm=config.model_type == "qwen3",
        tied=config.tie_word_embeddings,
        rotary=rotary,
        sliding_windows=_sliding_windows(config, document),
        tensor_shapes=layout.required,
    )


def _unsupported(config: DecoderConfig, document: Mapping[str, Any], where: str) -> list[Problem]:
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
    partial = document.get("partial_rotary_factor", 1.0)
    partial = config.rope.parameters.get("partial_rotary_factor", partial)
    if partial not in (None, 1, 1.0):
        problems.append(
            Problem(
                "the direct exporter rotates whole heads only",
                f"{where}, `partial_rotary_factor`",
                "1.0",
                repr(partial),
                USE_TORCH,
            )
        )
    if config.head_dim % 2:
        problems.append(
            Problem("head_dim must be even", f"{where}, `head_dim`", "even", str(config.head_dim))
        )
    if config.quantized:
        problems.append(
            Problem(
                "the checkpoint is already quantized",
                f"{where}, `quantization_config`",
                "weights of float32, float16 or bfloat16",
                fix="take the checkpoint before quantization and use `quantized_model`",
            )
        )
    return problems


def _sliding_windows(config: DecoderConfig, document: Mapping[str, Any]) -> tuple[int | None, ...]:
    """Qwen slides the layers that `layer_types` or `max_window_layers` say, Mistral slides all."""
    layers, window = config.num_hidden_layers, config.sliding_window
    if window is None or config.model_type == "mistral":
        return (window,) * layers
    types = document.get("layer_types")
    if not isinstance(types, list) or len(types) != layers:
        full = document.get("max_window_layers", 28)
        types = ["full_attention" if i < full else "sliding_attention" for i in range(layers)]
    return tuple(window if kind == "sliding_attention" else None for kind in types)


def choose_weights(
    architecture: DecoderArchitecture, tensors: Sequence[ExternalTensor], where: str
) -> Mapping[str, ExternalTensor]:
    """The tensors that the graph reads, by name; raise `InputError` with all that do not fit."""
    found = {tensor.name: tensor for tensor in tensors}
    problems = []
    for name, shape in architecture.tensor_shapes.items():
        tensor = found.get(name)
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
    return {name: found[name] for name in architecture.tensor_shapes}

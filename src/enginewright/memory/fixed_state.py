"""The fixed state of a linear, state-space or convolution layer, by the formula of its family.

Sizes are those of the caches that transformers 5.24.0 makes. Servers may keep one column less of a
convolution. The recurrent part is counted in float32 where the library keeps it so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from enginewright.memory.config_reader import ConfigReader
from enginewright.memory.layer import LayerKind, StateTensor

State = tuple[LayerKind, tuple[StateTensor, ...]]


def fixed_state(reader: ConfigReader) -> State:
    """Kind and tensors of the state layers; notes a doubt where no formula is known."""
    formula = _FORMULAS.get(reader.family.state)
    if formula is None:
        reader.doubts.append(
            f"the fixed state of layers of model type `{reader.family.model_type}` is not known "
            "and not counted"
        )
        return LayerKind.LINEAR, ()
    return formula(reader)


def _mamba(reader: ConfigReader) -> State:
    """Mamba 1: [inner, convolution] and [inner, state]."""
    inner = _inner(reader)
    convolution, state = _conv_width(reader), reader.count(_present(reader, "state"))
    parts = inner
    return LayerKind.STATE_SPACE, (
        StateTensor(inner * convolution, parts, wide=False),
        StateTensor(inner * state, parts, wide=True),
    )


def _mamba2(reader: ConfigReader) -> State:
    """Mamba 2: [inner + 2 * groups * state, convolution] and [heads, head size, state]."""
    state = reader.count(_present(reader, "state"))
    heads = reader.count(_present(reader, "heads"))
    groups = reader.count(_present(reader, "groups"), 1)
    size = reader.value(_present(reader, "head_size"))
    inner = _inner(reader, heads * size if type(size) is int else None)
    channels = inner + 2 * groups * state
    return LayerKind.STATE_SPACE, (
        StateTensor(channels * _conv_width(reader), 1, wide=False),
        StateTensor(inner * state, heads, wide=True),
    )


def _gated_delta(reader: ConfigReader) -> State:
    """Gated delta rule: q, k and v before the convolution, and [value heads, key, value]."""
    heads = reader.count("num_attention_heads")
    key_heads = reader.count("linear_num_key_heads", heads)
    value_heads = reader.count("linear_num_value_heads", heads)
    hidden = reader.count("hidden_size")
    key = reader.count("linear_key_head_dim", 3 * hidden // (4 * key_heads))
    value = reader.count("linear_value_head_dim", 2 * key)
    channels = 2 * key_heads * key + value_heads * value
    width = reader.count("linear_conv_kernel_dim", 4)
    return LayerKind.LINEAR, (
        StateTensor(channels * width, key_heads, wide=False),
        StateTensor(value_heads * key * value, value_heads, wide=True),
    )


def _delta_by_channel(reader: ConfigReader) -> State:
    """Kimi delta attention: three convolutions, and [heads, size, size]."""
    inner = reader.config.get("linear_attn_config")
    nested = inner if isinstance(inner, Mapping) else {}
    heads = reader.check(
        "num_heads",
        nested.get("num_heads", reader.value("linear_num_heads")),
        reader.count("num_attention_heads"),
    )
    size = reader.check(
        "head_dim",
        nested.get("head_dim", reader.value("linear_head_dim")),
        reader.count("head_dim", 128),
    )
    width = reader.check(
        "short_conv_kernel_size",
        nested.get("short_conv_kernel_size", reader.value("short_conv_kernel_size")),
        reader.count("linear_conv_kernel_dim", 4),
    )
    return LayerKind.LINEAR, (
        StateTensor(3 * heads * size * width, heads, wide=False),
        StateTensor(heads * size * size, heads, wide=True),
    )


def _lightning(reader: ConfigReader) -> State:
    """Lightning attention: [heads, size, size]."""
    heads = reader.count("num_attention_heads")
    size = reader.count("head_dim", max(reader.count("hidden_size") // heads, 1))
    return LayerKind.LINEAR, (StateTensor(heads * size * size, heads, wide=False),)


def _linear_recurrent_unit(reader: ConfigReader) -> State:
    """Griffin's unit: [width, convolution - 1] and [width]."""
    width = reader.count("lru_width", reader.count("hidden_size"))
    columns = reader.count("conv1d_width", 4) - 1
    return LayerKind.STATE_SPACE, (
        StateTensor(width * columns, 1, wide=False),
        StateTensor(width, 1, wide=True),
    )


def _short_convolution(reader: ConfigReader) -> State:
    """[hidden, convolution]."""
    elements = reader.count("hidden_size") * reader.count("conv_L_cache", 3)
    return LayerKind.CONVOLUTION, (StateTensor(elements, 1, wide=False),)


_FORMULAS: Mapping[str, Callable[[ConfigReader], State]] = {
    "mamba": _mamba,
    "mamba2": _mamba2,
    "gated_delta": _gated_delta,
    "delta_by_channel": _delta_by_channel,
    "lightning": _lightning,
    "linear_recurrent_unit": _linear_recurrent_unit,
    "short_convolution": _short_convolution,
}
_NAMES = {
    "state": ("mamba_d_state", "ssm_state_size", "state_size"),
    "heads": ("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads"),
    "groups": ("mamba_n_groups", "mamba_ngroups", "n_groups"),
    "head_size": ("mamba_d_head", "mamba_headdim", "mamba_head_dim", "head_dim"),
    "width": ("mamba_d_conv", "conv_kernel", "d_conv"),
    "inner": ("mamba_d_ssm", "mamba_expand", "expand"),
}


def _present(reader: ConfigReader, part: str) -> str:
    """The name that this family has for a size of its state-space layers."""
    names = _NAMES[part]
    for name in names:
        if name in reader.config or name in reader.family.fields:
            return name
    return names[0]


def _conv_width(reader: ConfigReader) -> int:
    return reader.count(_present(reader, "width"), 4)


def _inner(reader: ConfigReader, of_heads: int | None = None) -> int:
    """Channels of the state-space layer: by its heads, else the hidden size times a factor."""
    if of_heads is not None:
        return of_heads
    name = _present(reader, "inner")
    value = reader.count(name, 2)
    return value if name == "mamba_d_ssm" else value * reader.count("hidden_size")

"""Names of tensors in files against those of the class: with its prefix, or without.

A class with a head holds the model without one under a prefix, and either may have been saved.
transformers 5.24 adds or strips the prefix tensor by tensor (`rename_source_key` in its
`core_model_loading.py`); so does this.
"""

from __future__ import annotations

from collections.abc import Sequence

from enginewright.checkpoint.config import Config, OtherConfig
from enginewright.checkpoint.tensor_layout import TensorLayout


def name_by_class(stored: str, config: Config, layout: TensorLayout | None) -> str:
    """The class's name for the tensor that a file calls `stored`; the same where there is none."""
    if layout is None or isinstance(config, OtherConfig):
        return stored
    prefix = config.family.prefix
    if stored.startswith(prefix) and layout.shape(stored.removeprefix(prefix)) is not None:
        return stored.removeprefix(prefix)
    return prefix + stored if layout.shape(prefix + stored) is not None else stored


def foreign_prefix(lacking: Sequence[str], extra: Sequence[str]) -> str | None:
    """What stands before all names that are lacking, in names that are there; None where nothing.

    So names look after a wrapper was saved with its model, as `module.` or `language_model.`.
    """
    if not lacking:
        return None
    there = set(extra)
    endings = [name for name in extra if name.endswith(lacking[0])]
    for prefix in sorted({name.removesuffix(lacking[0]) for name in endings}, key=len):
        if prefix and all(prefix + name in there for name in lacking):
            return prefix
    return None

"""Loads a transformers model from a config and safetensors files: no network, no cache folder."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import safe_open

from enginewright.checkpoint.config import Config, OtherConfig
from enginewright.checkpoint.safetensors_header import quote, read_header
from enginewright.checkpoint.tensor_layout import BUFFERS
from enginewright.errors import InputError, Problem, raise_if_any

TORCH_DTYPES: Mapping[str, torch.dtype] = {
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float32": torch.float32,
}


def load_model(
    config: Config,
    document: Mapping[str, Any],
    weights: Sequence[Path],
    dtype: str,
    *,
    headless: bool = False,
) -> tuple[torch.nn.Module, tuple[str, ...]]:
    """The model of `config` (`document` is its JSON) in evaluation mode, its weights as `dtype`.

    And warnings: with `headless` it is the library's class without a head, as `AutoModel` has it,
    and tensors of a head are left out. Raises `InputError` for tensors that are missing or
    superfluous, and for values that `dtype` cannot hold.
    """
    tensors = _read_tensors(weights, TORCH_DTYPES[dtype])
    model, report = _build(config, document, tensors, dtype, headless)
    heads = [str(name) for name in report["unexpected_keys"]] if headless else []
    heads = [name for name in heads if type(model).__name__ != config.architecture]
    problems = [
        Problem(f"the model and its weights disagree: {kind}", quote(str(name)))
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")
        for name in sorted(report[kind], key=str)
        # No task of ours uses the pooler.
        if not str(name).startswith("pooler.") and str(name) not in heads
    ]
    raise_if_any(problems)
    left_out = f"left out, for they are of a head: {', '.join(sorted(heads)[:20])}"
    return model.eval().requires_grad_(False), (left_out,) if heads else ()


def _build(
    config: Config,
    document: Mapping[str, Any],
    tensors: dict[str, torch.Tensor],
    dtype: str,
    headless: bool,
) -> tuple[torch.nn.Module, Mapping[str, Any]]:
    """The model, and what the library says about keys that did not match."""
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        library_config = transformers.CONFIG_MAPPING[config.model_type].from_dict(dict(document))
        # TensorRT for RTX has no float32 kernel for the operator that "sdpa" becomes at opset 23.
        is_known = not isinstance(config, OtherConfig)
        implementation = "sdpa" if dtype != "float32" and is_known else "eager"
        library_config._attn_implementation = implementation
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            name = config.architecture
            if headless:
                base: Any = transformers.MODEL_MAPPING[type(library_config)]
                name = base.__name__
            model, report = getattr(transformers, name).from_pretrained(
                None,
                config=library_config,
                state_dict=tensors,
                dtype=TORCH_DTYPES[dtype],
                output_loading_info=True,
            )
    except Exception as error:  # the library has no error of its own for a config it refuses
        what = "the transformers library cannot build a model from the config"
        actual = f"{type(error).__name__}: {error}"[:500]
        raise InputError(Problem(what, "config.json", actual=actual)) from error
    return model, report


def _read_tensors(weights: Sequence[Path], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = {}
    problems: list[Problem] = []
    for path in weights:
        read_header(path)  # its errors are clearer than the library's
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (not a mapping)
                if BUFFERS.search(name):
                    continue
                stored = file.get_tensor(name)
                tensors[name] = stored.to(dtype)
                problems.extend(
                    _range_problems(f"{path.name}, {quote(name)}", stored, tensors[name])
                )
    raise_if_any(problems)
    return tensors


def _range_problems(where: str, stored: torch.Tensor, converted: torch.Tensor) -> list[Problem]:
    if bool(torch.isfinite(converted).all()):
        return []
    if not bool(torch.isfinite(stored).all()):
        return [Problem("the weights hold NaN or infinity", where, "finite numbers")]
    largest = float(stored.abs().max())
    return [
        Problem(
            "a weight is beyond the range of the export's dtype",
            where,
            f"at most {torch.finfo(converted.dtype).max:g} in magnitude",
            f"{largest:g}",
            "export as bfloat16 or float32",
        )
    ]

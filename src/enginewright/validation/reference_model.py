"""The PyTorch model of a checkpoint: what an engine must agree with.

It takes nothing from the exporters: transformers reads the checkpoint's own files.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError

from enginewright.errors import InputError, Problem
from enginewright.validation.measurement import ReferenceFiles
from enginewright.validation.measurement_request import MeasurementRequest

LIBRARY = "PyTorch"
_MOST_NAMES = 20


@dataclass(frozen=True)
class ReferenceModel:
    module: Any
    vocabulary: int
    """Token ids that its embedding has; 0 for a model without words."""
    unused: tuple[str, ...]
    """Tensors of the weights that the library does not take."""

    @classmethod
    def load(
        cls,
        files: ReferenceFiles,
        request: MeasurementRequest,
        *,
        auto: str = "AutoModel",
        attention: str = "eager",
    ) -> ReferenceModel:
        """On the request's device, in its dtype; `attention` as transformers names it.

        `auto` names the library's class that finds the model's.

        Raises `InputError` when transformers refuses them, and when a tensor of the model is
        missing from the weights: transformers would fill it with random numbers.
        """
        torch.set_num_threads(request.threads)
        transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        loader: Any = getattr(transformers, auto)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for name_there, path in _standard_names(files).items():
                (folder / name_there).symlink_to(path.resolve())
            try:
                module, information = loader.from_pretrained(
                    folder,
                    dtype=getattr(torch, request.reference_dtype),
                    attn_implementation=attention,
                    local_files_only=True,
                    use_safetensors=True,
                    output_loading_info=True,
                )
            except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
                what = "transformers refuses the checkpoint"
                raise InputError(Problem(what, str(files.config), actual=str(error))) from error
        _check_missing(files, information["missing_keys"])
        unused = tuple(sorted(map(str, information["unexpected_keys"])))
        module = module.to(request.reference_device)
        return cls(module.eval(), int(getattr(module.config, "vocab_size", 0)), unused)

    @property
    def device(self) -> torch.device:
        found: torch.device = self.module.device
        return found

    def notes(self) -> tuple[str, ...]:
        if not self.unused:
            return ()
        names = ", ".join(self.unused[:_MOST_NAMES])
        return (f"the reference does not take {len(self.unused)} tensors of the weights: {names}",)


def _check_missing(files: ReferenceFiles, keys: Any) -> None:
    # The pooler of an encoder takes no part in token states.
    missing = sorted(key for key in keys if not key.startswith("pooler."))
    if missing:
        what = "weights lack tensors of the model"
        names = ", ".join(missing[:_MOST_NAMES])
        raise InputError(Problem(what, str(files.weights[0]), names))


def _standard_names(files: ReferenceFiles) -> dict[str, Path]:
    """The files under the names that transformers looks for; an index names its shards itself."""
    config, weights = files.config, files.weights
    if len(weights) == 1:
        return {"config.json": config, "model.safetensors": weights[0]}
    return {"config.json": config, **{path.name: path for path in weights}}

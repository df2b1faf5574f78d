"""The PyTorch model of a checkpoint: what an engine must agree with."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import SafetensorError

from enginewright.errors import InputError, Problem
from enginewright.validation.comparison import Array
from enginewright.validation.measurement_request import FEATURE_EXTRACTION


@dataclass(frozen=True)
class ReferenceModel:
    module: Any

    @classmethod
    def load(
        cls, config: Path, weights: tuple[Path, ...], task: str, dtype: str, threads: int
    ) -> ReferenceModel:
        """Load `config` and the safetensors `weights` (with their index) on the CPU, in `dtype`.

        Raises `InputError` when transformers refuses them, and when a tensor of the model is
        missing from the weights: transformers would fill it with random numbers.
        """
        torch.set_num_threads(threads)
        transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        causal = task != FEATURE_EXTRACTION
        auto: Any = transformers.AutoModelForCausalLM if causal else transformers.AutoModel
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for name_there, path in _standard_names(config, weights).items():
                (folder / name_there).symlink_to(path.resolve())
            try:
                module, information = auto.from_pretrained(
                    folder,
                    dtype=getattr(torch, dtype),
                    attn_implementation="eager",
                    local_files_only=True,
                    use_safetensors=True,
                    output_loading_info=True,
                )
            except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
                raise InputError(
                    Problem("transformers refuses the checkpoint", str(config), actual=str(error))
                ) from error
        missing = sorted(information["missing_keys"])
        # The pooler of an encoder takes no part in token states.
        missing = [key for key in missing if not key.startswith("pooler.")]
        if missing:
            what = "weights lack tensors of the model"
            raise InputError(Problem(what, str(weights[0]), ", ".join(missing[:20])))
        return cls(module.eval())

    def logits(self, input_ids: Array) -> Array:
        """int64 [batch, sequence] without padding -> [batch, sequence, vocabulary]."""
        with torch.inference_mode():
            output = self.module(input_ids=torch.from_numpy(input_ids), use_cache=False)
        return np.asarray(output.logits.numpy())

    def embedding(self, input_ids: Array, pooling: str, normalize: bool) -> Array:
        """int64 [1, sequence] -> [width], or [sequence, width] without pooling."""
        with torch.inference_mode():
            states = self.module(input_ids=torch.from_numpy(input_ids)).last_hidden_state[0]
        if pooling == "mean":
            states = states.mean(dim=0)
        elif pooling == "cls":
            states = states[0]
        if normalize:
            states = torch.nn.functional.normalize(states, dim=-1)
        return np.asarray(states.numpy())


def _standard_names(config: Path, weights: tuple[Path, ...]) -> dict[str, Path]:
    """The files under the names that transformers looks for; an index names its shards itself."""
    if len(weights) == 1:
        return {"config.json": config, "model.safetensors": weights[0]}
    return {"config.json": config, **{path.name: path for path in weights}}

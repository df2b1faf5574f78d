"""`config.json` without what cannot change the exported graph or the weights.

A checkpoint whose config differs only in these fields, or in white space, gives the same bytes, so
no later step runs again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DROPPED_FIELDS = frozenset(
    {
        # Where the config came from.
        "_commit_hash",
        "_name_or_path",
        "transformers_version",
        # Python code that the checkpoint would like to run; no step of ours runs it.
        "auto_map",
        # Training: how weights were first drawn, and what is switched off outside training.
        "attention_dropout",
        "attention_probs_dropout_prob",
        "classifier_dropout",
        "embd_pdrop",
        "gradient_checkpointing",
        "hidden_dropout_prob",
        "initializer_range",
        "resid_pdrop",
        # How a PyTorch program would generate text; the graph has no cache of its own.
        "use_cache",
        # Notes about tasks that have no effect on the layers.
        "finetuning_task",
        "task_specific_params",
    }
)
"""Every other field is kept, known or not: it might matter."""


def normalise(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in DROPPED_FIELDS}

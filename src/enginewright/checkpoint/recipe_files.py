"""The files beside `config.json` that say how a model is used, by their paths in the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enginewright import canonical_json

GENERATION = "generation_config.json"
MODULES = "modules.json"
PROMPTS = "config_sentence_transformers.json"
SENTENCE_LENGTH = "sentence_bert_config.json"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
LISTS = frozenset({MODULES})
"""Files that are JSON lists by design."""


def read_optional(files: Mapping[str, Path], name: str) -> dict[str, Any]:
    """The JSON object in the file of that path; empty where there is no such file."""
    return canonical_json.read_object(files[name]) if name in files else {}

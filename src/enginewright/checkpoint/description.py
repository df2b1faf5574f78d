"""Everything that is read of a checkpoint, in one place and once.

`describe_checkpoint` reads `config.json`, the headers of the weights and the files beside them.
What a later step needs it gets as a part of its own (`parts`), so that a change of one thing runs
only the steps that read it:

    config.json       fields that can change numbers        exporters, sizing, reference
    checkpoint.json   where each tensor lies                 exporters, conversion
    embedding.json    how a sentence's vector is made        the exporter of embeddings, validation
    serving.json      tokens, lengths, prompts               packages, run
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json, document
from enginewright.checkpoint.config import Config, DecoderConfig, OtherConfig, parse_config
from enginewright.checkpoint.descriptor import describe
from enginewright.checkpoint.embedding import EmbeddingDescription, read_embedding
from enginewright.checkpoint.exportable import tasks_of
from enginewright.checkpoint.serving import Serving, read_serving
from enginewright.checkpoint.tokenizer import tokenizer_problems
from enginewright.checkpoint.unread_fields import normalise
from enginewright.checkpoint.verify import VerifiedCheckpoint, verify_weights
from enginewright.errors import InputError, Problem


@dataclass(frozen=True)
class CheckpointDescription:
    config: Config
    document: Mapping[str, Any]
    """`config.json` without fields that are known to have no effect."""
    weights: VerifiedCheckpoint
    embedding: EmbeddingDescription
    serving: Serving

    @property
    def warnings(self) -> list[str]:
        """What the build says of the checkpoint, all that is odd and not wrong."""
        found = [*self.weights.warnings, *self.serving.warnings()]
        if not isinstance(self.config, OtherConfig):
            found += self.config.unread.warnings
            refused = [*self.config.unread.problems]
            refused += self.config.contradictions if isinstance(self.config, DecoderConfig) else ()
            found += [f"no exporter takes it: {p.what}: {p.where}: {p.actual}" for p in refused]
        if isinstance(self.config, DecoderConfig) and self.config.has_head:
            found += [] if self.serving.stop.ids else [self.serving.no_stop_warning()]
        return found

    def parts(self) -> dict[str, Any]:
        """JSON by file name."""
        return {
            "config.json": _without_infinities(self.document),
            "checkpoint.json": describe(self.config, self.weights),
            "embedding.json": document.encode(self.embedding),
            "serving.json": document.encode(self.serving),
        }

    def summary(self) -> dict[str, Any]:
        """What whoever plans a build needs: kind, tasks, length, tokens, counts."""
        length = self.serving.length
        return {
            "architecture": self.config.architecture,
            "dtype": self.weights.dtype,
            "generation": {
                "stop": list(self.serving.stop.ids),
                "begin": list(self.serving.begin.ids),
            },
            "kind": "other" if isinstance(self.config, OtherConfig) else self.config.family.kind,
            "length": None if length is None else document.encode(length),
            "model_type": self.config.model_type,
            "parameters": self.weights.parameters,
            "tasks": list(tasks_of(self.config)),
            "tensors": len(self.weights.tensors),
        }


def describe_checkpoint(
    config_path: Path, weights: Sequence[Path], files: Mapping[str, Path]
) -> CheckpointDescription:
    """Read a checkpoint; `files` are those beside its config, by their paths in the checkpoint.

    Reads no tensor. Raises `InputError` with all problems of all files.
    """
    problems: list[Problem] = []
    for path in files.values():
        problems.extend(tokenizer_problems(path))
    try:
        content = canonical_json.read_object(config_path)
        config = parse_config(content, str(config_path))
    except InputError as error:
        raise InputError([*error.problems, *problems]) from error
    try:
        verified = verify_weights(config, config_path, weights)
    except InputError as error:
        problems = [*error.problems, *problems]
    vocab_size = None if isinstance(config, OtherConfig) else config.vocab_size
    try:
        serving = read_serving(content, vocab_size, files) if not problems else None
    except InputError as error:
        problems.extend(error.problems)
    if problems or serving is None:
        raise InputError(problems)
    return CheckpointDescription(
        config,
        # Of a family that nobody describes any field may count: names of classes, the padding's id.
        content if isinstance(config, OtherConfig) else normalise(content),
        verified,
        read_embedding(files),
        serving,
    )


def _without_infinities(value: Any) -> Any:
    """JSON has no infinity and no NaN; transformers 5 writes and reads them as this object."""
    if isinstance(value, Mapping):
        return {name: _without_infinities(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_infinities(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        text = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return {"__float__": text}
    return value

"""`model_checkpoint`: files from the tree, a locked distribution or pinned downloads, verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Kind, Steps
from pants_enginewright.models import named_files
from pants_enginewright.models.named_files import NamedFiles, NamedFilesRequest
from pants_enginewright.models.origin import Generation, LengthLimit, Origin
from pants_enginewright.models.targets import (
    ConfigField,
    DistributionField,
    DistributionPathField,
    FilesField,
    ModelCheckpointTarget,
    TokenizerField,
    WeightsField,
)
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, File, Files

ENDINGS = (".json", ".safetensors")
NO_FILES = Files()


@dataclass(frozen=True)
class CheckpointKind(Kind):
    """A `model_checkpoint` target."""

    required_fields = (ConfigField, WeightsField)

    config: ConfigField
    weights: WeightsField
    tokenizer: TokenizerField
    distribution: DistributionField
    distribution_path: DistributionPathField
    files: FilesField

    @property
    def steps(self) -> Steps:
        return Steps.of("verify_checkpoint", "extract_files")

    def wanted(self) -> NamedFilesRequest:
        """The files that it is made of."""
        names = [*self.config.names, *self.weights.names, *self.tokenizer.names]
        return NamedFilesRequest(
            self.address,
            ModelCheckpointTarget.alias,
            tuple(dict.fromkeys(names)),
            self.distribution.value,
            self.distribution_path.value or "",
            tuple(thaw(self.files.value)),
            self.config.beside,
            ENDINGS,
        )


@dataclass(frozen=True)
class CheckpointRequest(NamedTarget):
    """Asks for the verified files of a `model_checkpoint` target."""


@dataclass(frozen=True)
class CheckpointSummary:
    kind: str
    """`decoder`, `encoder`, or `other` for an architecture that is not known."""
    length: Optional[LengthLimit] = None
    generation: Optional[Generation] = None


@dataclass(frozen=True)
class _Verified:
    summary: CheckpointSummary


@dataclass(frozen=True)
class Checkpoint:
    address: Address
    source_config: File
    """As the user wrote it."""
    config: Files
    """`config.json`, normalised: without fields that cannot change a result."""
    descriptor: Files
    """`checkpoint.json`: names, shapes and places of the tensors, but not their bytes."""
    weights: Files
    tokenizer: Files
    """What packages ship, at its path in the checkpoint."""
    summary: CheckpointSummary
    """What `verify_checkpoint` says of it."""
    steps: Tuple[ActionResult, ...]
    embedding: Files = NO_FILES
    """`embedding.json`: how a sentence's vector is made of those of its tokens."""
    serving: Files = NO_FILES
    """`serving.json`: stop tokens, lengths and what else no graph depends on."""
    beside: Files = NO_FILES
    """Files that were read without being named, such as modules.json."""

    @property
    def origin(self) -> Origin:
        """As what is made of it sees it."""
        sources = [
            ("config", self.source_config),
            *(("weights", file) for file in self.weights.entries),
            *(("tokenizer", file) for file in self.tokenizer.entries),
            *(("beside", file) for file in self.beside.entries),
        ]
        summary = self.summary
        return Origin(
            self.address,
            tuple(sources),
            self.tokenizer,
            summary.kind,
            self.config,
            summary.length,
            summary.generation,
        )


@rule(desc="Verify a checkpoint")
async def verify_checkpoint(request: CheckpointRequest) -> Checkpoint:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(CheckpointKind))
    fields = found.of(CheckpointKind)
    wanted = fields.wanted()
    collected = await Get(NamedFiles, NamedFilesRequest, wanted)
    others = [path for path in collected.files.by_path() if path not in wanted.names]
    config, weights, tokenizer, beside = [
        await Get(Files, ComposeFiles, ComposeFiles.named(collected.files.entries, *names))
        for names in (fields.config.names, fields.weights.names, fields.tokenizer.names, others)
    ]
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "verify_checkpoint",
            address=fields.address,
            inputs=[
                ActionInput.of("config", config, "checkpoint"),
                ActionInput.of("weights", weights, "checkpoint"),
                ActionInput.of("tokenizer", tokenizer, "checkpoint"),
                ActionInput.of("beside", beside, "checkpoint"),
            ],
        ),
    )
    written = result.files.entries
    return Checkpoint(
        fields.address,
        config.entries[0],
        await Get(Files, ComposeFiles, ComposeFiles.named(written, "config.json")),
        await Get(Files, ComposeFiles, ComposeFiles.named(written, "checkpoint.json")),
        weights,
        tokenizer,
        result.read(_Verified).summary,
        (*collected.steps, result),
        await Get(Files, ComposeFiles, ComposeFiles.named(written, "embedding.json")),
        await Get(Files, ComposeFiles, ComposeFiles.named(written, "serving.json")),
        beside,
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *CheckpointKind.rules(),
        *named_files.rules(),
    )

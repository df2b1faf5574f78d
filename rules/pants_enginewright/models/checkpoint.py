"""`model_checkpoint`: files from the tree, a locked distribution or pinned downloads, verified."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from pants.core.target_types import FileSourceField
from pants.core.util_rules.source_files import SourceFiles, SourceFilesRequest
from pants.engine.addresses import Address, UnparsedAddressInputs
from pants.engine.fs import Digest, PathGlobs, Paths, RemovePrefix
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import InvalidTargetException, Targets

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Kind, Steps
from pants_enginewright.environments.tool_environment import ToolEnvironment, ToolEnvironmentRequest
from pants_enginewright.models.targets import (
    ConfigField,
    DistributionField,
    DistributionPathField,
    FilesField,
    ModelCheckpointTarget,
    TokenizerField,
    WeightsField,
)
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Data, File, Files, ListData

CHECKPOINT_ENDINGS = (".json", ".safetensors")
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

    def wanted(self) -> CheckpointFilesRequest:
        """The files that it is made of."""
        names = [*self.config.names, *self.weights.names, *self.tokenizer.names]
        return CheckpointFilesRequest(
            self.address,
            tuple(dict.fromkeys(names)),
            self.distribution.value,
            self.distribution_path.value or "",
            tuple(thaw(self.files.value)),
            self.config.beside,
        )


@dataclass(frozen=True)
class CheckpointRequest(NamedTarget):
    """Asks for the verified files of a `model_checkpoint` target."""


@dataclass(frozen=True)
class LengthLimit:
    """The longest context that a model was made for."""

    tokens: int
    source: str
    """The fields of config.json that say so."""

    def described(self) -> Dict[str, Any]:
        """As `engine.json` says it."""
        return {"tokens": self.tokens, "source": self.source}


@dataclass(frozen=True)
class Generation:
    """Ids of the tokens that end and begin a text, as the checkpoint's files name them."""

    stop: Tuple[int, ...]
    begin: Tuple[int, ...]

    def described(self) -> Dict[str, Any]:
        """As `engine.json` says it."""
        return {"stop": list(self.stop), "begin": list(self.begin)}


@dataclass(frozen=True)
class CheckpointSummary:
    kind: str
    """`decoder`, `encoder`, or `other` for an architecture that is not known."""
    length: Optional[LengthLimit] = None
    generation: Optional[Generation] = None


@dataclass(frozen=True)
class _Extracted:
    files: Tuple[str, ...]


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

    def sources(self) -> List[Tuple[str, File]]:
        """Every input file by role."""
        return [
            ("config", self.source_config),
            *(("weights", file) for file in self.weights.entries),
            *(("tokenizer", file) for file in self.tokenizer.entries),
            *(("beside", file) for file in self.beside.entries),
        ]


@dataclass(frozen=True)
class CheckpointFilesRequest:
    address: Address
    names: Tuple[str, ...]
    distribution: Optional[str]
    folder: str
    targets: Tuple[str, ...]
    beside: Tuple[str, ...] = ()
    """Patterns of files that count where they are there."""

    def missing(self, files: Files) -> List[str]:
        """All names that are not among `files`."""
        return [name for name in self.names if name not in files.by_path()]


@dataclass(frozen=True)
class CheckpointFiles:
    files: Files
    steps: Tuple[ActionResult, ...]


@dataclass(frozen=True)
class FilesOfDistribution:
    request: CheckpointFilesRequest


@dataclass(frozen=True)
class FilesOfTargets:
    request: CheckpointFilesRequest


@dataclass(frozen=True)
class ExtractedFiles:
    files: Files
    step: ActionResult


@dataclass(frozen=True)
class PinnedFiles:
    files: Files


@rule
async def collect_checkpoint_files(request: CheckpointFilesRequest) -> CheckpointFiles:
    if request.distribution is not None:
        extracted = await Get(ExtractedFiles, FilesOfDistribution(request))
        return CheckpointFiles(extracted.files, (extracted.step,))
    if request.targets:
        pinned = await Get(PinnedFiles, FilesOfTargets(request))
        return CheckpointFiles(pinned.files, ())
    folder = request.address.spec_path
    # NB: the rule that uses the files reports all that are missing; globs would stop at the first.
    names = (*request.names, *request.beside)
    digest = await Get(Digest, PathGlobs([os.path.join(folder, name) for name in names]))
    inside = await Get(Digest, RemovePrefix(digest, folder))
    listed = await Get(Data, ListData(inside))
    return CheckpointFiles(listed.files, ())


@rule
async def extract_from_distribution(wrapped: FilesOfDistribution) -> ExtractedFiles:
    request = wrapped.request
    assert request.distribution is not None
    tools = await Get(
        ToolEnvironment,
        ToolEnvironmentRequest(
            request.distribution, f"field `distribution` of {request.address}", request.address
        ),
    )
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "extract_files",
            address=request.address,
            inputs=[ActionInput.of("wheels", tools.wheels)],
            parameters={
                "folder": request.folder,
                "names": list(request.names),
                "optional": list(request.beside),
            },
        ),
    )
    names = result.read(_Extracted).files
    files = await Get(Files, ComposeFiles, ComposeFiles.named(result.files.entries, *names))
    return ExtractedFiles(files, result)


@rule
async def collect_from_targets(wrapped: FilesOfTargets) -> PinnedFiles:
    request = wrapped.request
    wanted = names_by_file(request)
    targets = await Get(
        Targets,
        UnparsedAddressInputs(
            request.targets,
            owning_address=request.address,
            description_of_origin=f"field `files` of {request.address}",
        ),
    )
    sources = await Get(
        SourceFiles,
        SourceFilesRequest(
            [t[FileSourceField] for t in targets if t.has_field(FileSourceField)],
            for_sources_types=(FileSourceField,),
            # NB: Pants downloads an `http_source` as if it were generated code.
            enable_codegen=True,
        ),
    )
    listed = await Get(Data, ListData(sources.snapshot.digest))
    entries = [f.at(wanted[f.name]) for f in listed.files.entries if f.name in wanted]
    return PinnedFiles(await Get(Files, ComposeFiles(tuple(entries))))


def names_by_file(request: CheckpointFilesRequest) -> Dict[str, str]:
    """Path in the checkpoint by name of a downloaded file, which has no folder."""
    found: Dict[str, str] = {name: name for name in request.beside if "/" not in name}
    named: Dict[str, str] = {}
    for path in request.names:
        name = os.path.basename(path)
        if name in named:
            raise InvalidTargetException(
                f"`{ModelCheckpointTarget.alias}` target {request.address}: {named[name]} and "
                f"{path} have the same name, and files of the field `{FilesField.alias}` are told "
                "apart by name; put one of them into the tree"
            )
        named[name] = path
    return {**found, **named}


@rule(desc="Verify a checkpoint")
async def verify_checkpoint(request: CheckpointRequest) -> Checkpoint:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(CheckpointKind))
    fields = found.of(CheckpointKind)
    wanted = fields.wanted()
    collected = await Get(CheckpointFiles, CheckpointFilesRequest, wanted)
    missing = wanted.missing(collected.files)
    if missing:
        globs = [os.path.join(fields.address.spec_path, f"*{end}") for end in CHECKPOINT_ENDINGS]
        there = await Get(Paths, PathGlobs(globs))
        raise InvalidTargetException(describe_missing(wanted, missing, there.files))
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


def describe_missing(
    request: CheckpointFilesRequest, missing: Sequence[str], there: Sequence[str]
) -> str:
    """`there`: files of the BUILD file's folder that the field could have meant."""
    place = request.address.spec_path
    hint = ""
    if request.targets:
        place = "the targets of its field `files`"
    else:
        names = ", ".join(sorted(map(os.path.basename, there))) or "no file of a checkpoint"
        hint = f". There are: {names}. (What .gitignore names, Pants does not see.)"
    return (
        f"`{ModelCheckpointTarget.alias}` target {request.address} names files that are not in "
        f"{place}: {', '.join(missing)}{hint}"
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *CheckpointKind.rules(),
        *action.rules(),
    )

"""`onnx_file`: an ONNX model that exists, taken over for engines and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional

from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Steps
from pants_enginewright.models import named_files, onnx_model
from pants_enginewright.models.graph import Graph, GraphRequest
from pants_enginewright.models.named_files import NamedFiles, NamedFilesRequest
from pants_enginewright.models.onnx_file_targets import (
    OnnxAxesField,
    OnnxDataField,
    OnnxFileTarget,
    OnnxNamesField,
    OnnxSourceField,
    OnnxTaskField,
    ServedField,
)
from pants_enginewright.models.onnx_model import MadeModel, MakePlainModel, OnnxModel
from pants_enginewright.models.origin import Origin
from pants_enginewright.models.targets import (
    DistributionField,
    DistributionPathField,
    FilesField,
)
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files

ENDINGS = (".onnx", ".data", ".onnx_data")


@dataclass(frozen=True)
class ImportFile(MakePlainModel):
    """An `onnx_file` target."""

    required_fields = (OnnxSourceField, OnnxDataField)

    source: OnnxSourceField
    data: OnnxDataField
    served: ServedField
    names: OnnxNamesField
    axes: OnnxAxesField
    task: OnnxTaskField
    distribution: DistributionField
    distribution_path: DistributionPathField
    files: FilesField

    @property
    def steps(self) -> Steps:
        return Steps.of("import_onnx", "extract_files", environments=("onnx",))

    def wanted(self) -> NamedFilesRequest:
        """The files that it is made of."""
        names = (*self.source.names, *self.data.names, *self.served.names)
        return NamedFilesRequest(
            self.address,
            OnnxFileTarget.alias,
            tuple(dict.fromkeys(names)),
            self.distribution.value,
            self.distribution_path.value or "",
            tuple(thaw(self.files.value)),
            endings=ENDINGS,
        )

    def changes(self) -> Dict[str, Any]:
        """Parameters of the step: names and axes as the engine is to have them."""
        return {"names": thaw(self.names.value), "axes": thaw(self.axes.value)}


@dataclass(frozen=True)
class OriginalRequest(NamedTarget):
    """Asks for the file of an `onnx_file` target, as it was given."""


@dataclass(frozen=True)
class Original:
    fields: ImportFile
    files: Files
    """The `.onnx` file and its external data."""
    served: Files
    found: NamedFiles


@dataclass(frozen=True)
class _Imported:
    dtype: Optional[str]


@rule
async def find_original(request: OriginalRequest) -> Original:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(ImportFile))
    fields = found.of(ImportFile)
    named = await Get(NamedFiles, NamedFilesRequest, fields.wanted())
    names = ((*fields.source.names, *fields.data.names), fields.served.names)
    model, served = [
        await Get(Files, ComposeFiles, ComposeFiles.named(named.files.entries, *some))
        for some in names
    ]
    return Original(fields, model, served, named)


@rule(desc="Take over an ONNX file")
async def import_file(fields: ImportFile) -> MadeModel:
    original = await Get(Original, OriginalRequest, OriginalRequest.by_user(fields.address))
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "import_onnx",
            address=fields.address,
            environment="onnx",
            inputs=[ActionInput.of("file", original.files)],
            parameters=fields.changes(),
            fresh=fields.fresh,
        ),
    )
    made = await Get(Graph, GraphRequest(result))
    sources = (
        *(("onnx-file", file) for file in original.files.entries),
        *(("served", file) for file in original.served.entries),
    )
    return MadeModel(
        OnnxModel(
            fields.address,
            Origin(fields.address, sources, original.served, "other"),
            fields.task.value,
            result.read(_Imported).dtype,
            "all",
            "onnx",
            made.graph,
            made.data,
            made.record,
            (*original.found.steps, result),
        )
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *ImportFile.rules(),
        *named_files.rules(),
        *onnx_model.rules(),
    )

"""The report of one package, put together from what its files say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from enginewright.commands.record_comparison import RecordedStep, compare, read_record
from enginewright.engines.component import components_of
from enginewright.engines.manifest import NAME, Manifest, read_manifest
from enginewright.report.accuracy import accuracy_section, read_accuracy
from enginewright.report.html import Section, page, paragraph, table, wide
from enginewright.report.memory import memory_section
from enginewright.report.model import model_section
from enginewright.report.pictures import Box, flow
from enginewright.report.quantization import quantization_section


@dataclass(frozen=True)
class ReportRequest:
    package: Path
    """Its folder; of it only `engine.json` is read."""
    record: Path | None = None
    accuracy: Path | None = None
    """A `report.json` of an accuracy test."""
    quantization: Path | None = None
    """A `report.json` of a packaged `quantized_model`."""
    checkpoint: Path | None = None
    """Folder of safetensors files: the structure of the model is that of their headers."""
    other: Path | None = None
    """Folder of a package to compare with."""
    other_record: Path | None = None


@dataclass(frozen=True)
class Report:
    name: str
    text: str
    """HTML."""


def make_report(request: ReportRequest) -> Report:
    """Raises `InputError` for what cannot be read."""
    where = request.package / NAME
    manifest = read_manifest(where)
    steps = () if request.record is None else _own(read_record(request.record), manifest)
    sections = [_build(manifest, steps)]
    if request.checkpoint is not None:
        sections.append(model_section(request.checkpoint))
    sections.append(_tensors(manifest))
    sections.append(memory_section(manifest.size_estimate, str(where)))
    if request.accuracy is not None:
        sections.append(accuracy_section(read_accuracy(request.accuracy)))
    if request.quantization is not None:
        sections.append(quantization_section(request.quantization))
    sections += [_components(manifest), _provenance(manifest)]
    if request.other is not None:
        sections.append(_comparison(manifest, read_manifest(request.other / NAME)))
    if request.record is not None and request.other_record is not None:
        sections.append(_steps_beside(read_record(request.record), request.other_record))
    product = manifest.product
    lead = paragraph(f"{manifest.task}, {product.name} {product.version}{_missing(request)}")
    warned = "".join(paragraph(f"Warning: {one}") for one in manifest.warnings)
    return Report(manifest.name, page(manifest.name, sections, lead + warned))


def _missing(request: ReportRequest) -> str:
    """What this report leaves out, so that silence is not taken for an answer."""
    given = {
        "the build record": request.record,
        "the accuracy test": request.accuracy,
        "the checkpoint": request.checkpoint,
    }
    absent = [name for name, path in given.items() if path is None]
    return "; made without " + ", ".join(absent) if absent else ""


def _own(steps: Sequence[RecordedStep], manifest: Manifest) -> tuple[RecordedStep, ...]:
    """Those of the package, by its name, and of its sources; not of its tests."""
    sources = {manifest.source.address, *(one.address for one in manifest.inputs)}
    return tuple(
        step
        for step in steps
        if step.address in sources or step.address.rpartition(":")[2] == manifest.name
    )


def _build(manifest: Manifest, steps: Sequence[RecordedStep]) -> Section:
    inputs = dict.fromkeys(f"{one.role}: {one.address}" for one in manifest.inputs)
    ran = [step.source.startswith("ran") for step in steps]
    named = [
        Box(f"{step.action} {step.address}", new) for step, new in zip(steps, ran, strict=True)
    ]
    files = [Box(path) for path in sorted(manifest.files)]
    drawn = flow([("inputs", [*map(Box, inputs)]), ("steps", named), ("files", files)])
    rows = [
        [
            step.action,
            step.address,
            step.source,
            "-" if step.milliseconds is None else f"{step.milliseconds / 1000:.1f} s",
            f"{step.bytes:,}",
        ]
        for step in steps
    ]
    said = f"{sum(ran)} of {len(steps)} steps ran (thick border), the others came from a cache."
    body = paragraph(said if steps else "No build record was given, so no steps are shown.")
    body += wide("Picture of the build", drawn)
    if steps:
        head = ["step", "target", "from", "time where it ran", "bytes"]
        body += table("Steps", head, rows)
    return Section("Build", body)


def _tensors(manifest: Manifest) -> Section:
    rows = [
        [one.mode, one.name, one.dtype, " x ".join(map(str, one.shape))] for one in manifest.tensors
    ]
    return Section(
        "Inputs and outputs",
        table("Inputs and outputs", ["direction", "tensor", "dtype", "shape"], rows),
    )


def _components(manifest: Manifest) -> Section:
    rows = [
        [one.kind, one.name, one.path or ("in the engine" if one.embedded else "-")]
        for one in components_of(manifest)
    ]
    if not rows:
        return Section("Kernels", paragraph("The package has no kernels and no plugins."))
    return Section("Kernels", table("Kernels and plugins", ["kind", "name", "file"], rows))


def _provenance(manifest: Manifest) -> Section:
    inputs = [
        [one.role, one.address, one.path, f"{one.digest.size:,}", one.digest.sha256]
        for one in manifest.inputs
    ]
    files = [
        [path, f"{digest.size:,}", digest.sha256] for path, digest in sorted(manifest.files.items())
    ]
    head = ["role", "target", "file", "bytes", "sha256"]
    body = table("Inputs of the build", head, inputs)
    return Section(
        "Provenance", body + table("Files of the package", ["file", "bytes", "sha256"], files)
    )


def _comparison(first: Manifest, second: Manifest) -> Section:
    """Inputs and files that are not the same, side by side."""
    rows = []
    sides = [
        {
            "product": f"{one.product.name} {one.product.version}",
            "task": one.task,
            **{f"{i.role} {i.address} {i.path}": i.digest.sha256 for i in one.inputs},
            **{f"file {path}": digest.sha256 for path, digest in one.files.items()},
        }
        for one in (first, second)
    ]
    for name in sorted({*sides[0], *sides[1]}):
        left, right = (side.get(name, "absent") for side in sides)
        if left != right:
            rows.append([name, left, right])
    if not rows:
        return Section("Comparison", paragraph(f"The same inputs and files as {second.name}."))
    return Section("Comparison", table("Differences", ["what", first.name, second.name], rows))


def _steps_beside(steps: Sequence[RecordedStep], other: Path) -> Section:
    rows = [
        [pair.name, _source(pair.first), _source(pair.second), pair.verdict]
        for pair in compare(steps, read_record(other))
    ]
    head = ["step", "this record", "the other", "result"]
    return Section("Steps beside another record", table("Steps of two records", head, rows))


def _source(step: RecordedStep | None) -> str:
    return "-" if step is None else step.source

"""The memory plan of an engine beside the GPUs that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from enginewright.compatibility.tables import table as rows_of
from enginewright.document import decode
from enginewright.memory.gpu import gpu_memory
from enginewright.report.html import Section, paragraph, table, wide
from enginewright.report.pictures import Bar, bars
from enginewright.schema import Size


@dataclass(frozen=True)
class PlannedProfile:
    OPEN: ClassVar[bool] = True
    batch: Size
    sequence: Size
    past_sequence: Size
    activation_bytes: Size
    input_output_bytes: Size
    kv_cache_bytes: Size
    device_bytes: Size


@dataclass(frozen=True)
class PlannedMemory:
    OPEN: ClassVar[bool] = True
    engine_bytes: Size
    tolerance_bytes: Size
    profiles: tuple[PlannedProfile, ...] = ()


def memory_section(estimate: Mapping[str, Any] | None, where: str) -> Section:
    """From `size_estimate` of an engine.json; bytes on a device, by profile."""
    if estimate is None:
        return Section("Memory", paragraph("The package has no estimate of its memory."))
    plan = decode(PlannedMemory, estimate, f"{where}, size_estimate")
    head = ["profile", "batch", "sequence", "past", "activations", "in and out", "KV cache", "all"]
    sizes = [
        [
            str(number),
            *(str(size) for size in (one.batch, one.sequence, one.past_sequence)),
            f"{one.activation_bytes:,}",
            f"{one.input_output_bytes:,}",
            f"{one.kv_cache_bytes:,}",
            f"{one.device_bytes:,}",
        ]
        for number, one in enumerate(plan.profiles)
    ]
    needed = max((one.device_bytes for one in plan.profiles), default=plan.engine_bytes)
    known = {name: gpu_memory(name) for name in rows_of("gpu")}
    gpus = [
        Bar(name, needed / memory, f"{needed / memory:.1%} of {memory / 2**30:.0f} GiB")
        for name, memory in known.items()
    ]
    said = (
        f"Estimated, not measured: engine {plan.engine_bytes:,} bytes, to within "
        f"{plan.tolerance_bytes:,}. The bars are the largest profile, {needed:,} bytes."
    )
    body = paragraph(said) + table("Bytes by profile", head, sizes)
    fits = table(
        "Part of each GPU",
        ["GPU", "memory in bytes", "part"],
        [[name, f"{memory:,}", f"{needed / memory:.2%}"] for name, memory in known.items()],
    )
    return Section("Memory", body + wide("Memory of GPUs", bars("Part of each GPU", gpus)) + fits)

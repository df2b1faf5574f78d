"""What the doctor asks of an engine: its `engine.json`, and of a damaged one what can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright.compatibility.version import ComputeCapability, Version, try_version
from enginewright.dtype import BY_NAME
from enginewright.engines.component import Component, components_of
from enginewright.engines.device_needs import DeviceNeeds
from enginewright.engines.manifest import NAME, Manifest, ReadManifest, decode, read_with_problems
from enginewright.engines.registry import find_own
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import Problem
from enginewright.hashing import FileDigest

_MAX_DIMS, _MAX_PROFILES = 16, 64
_MAX_DIM = 1 << 40
"""More is no size of a tensor, and products of such numbers take long."""


@dataclass(frozen=True)
class Memory:
    """Bytes that a profile needs at least: the engine, inputs and outputs at their greatest."""

    profile: int
    plan: int
    tensors: int
    complete: bool
    """Whether the size of every tensor is known."""

    @property
    def total(self) -> int:
        return self.plan + self.tensors


@dataclass(frozen=True)
class EngineFacts:
    product: str
    """Its name; empty where the manifest cannot be read."""
    version: Version | None
    needs: DeviceNeeds | None
    """None where the engine runs without a GPU, and where the manifest cannot be read."""
    files: Mapping[str, FileDigest]
    components: tuple[Component, ...]
    memory: tuple[Memory, ...]
    problems: tuple[Problem, ...]
    """Of the manifest; where there are any, only `files` is filled."""

    @property
    def runs_without_gpu(self) -> bool:
        return self.needs is None and not self.problems

    @property
    def cuda(self) -> str:
        return self.needs.cuda if self.needs is not None else ""

    @property
    def minimum_driver(self) -> Version | None:
        return self.needs.minimum_driver if self.needs is not None else None

    @property
    def compute_capabilities(self) -> tuple[ComputeCapability, ...]:
        return self.needs.compute_capabilities if self.needs is not None else ()

    @property
    def device(self) -> str:
        """Name of the GPU that the engine is bound to; empty where it is bound to none."""
        return self.needs.device if self.needs is not None else ""


def read_engine(folder: Path) -> EngineFacts:
    """Read `engine.json` of the folder; raise `InputError` when there is none, or no object."""
    return _facts(read_with_problems(folder / NAME, find_own))


def engine_facts(document: Mapping[str, Any], where: str) -> EngineFacts:
    """The facts in the document of an `engine.json`; what cannot be read becomes a problem."""
    return _facts(decode(document, where, find_own))


def _facts(read: ReadManifest) -> EngineFacts:
    manifest = read.manifest
    if manifest is None or read.own is None:
        return EngineFacts("", None, None, read.files, (), (), read.problems)
    needs = read.own.device_needs()
    return EngineFacts(
        product=manifest.product.name,
        version=try_version(manifest.product.version),
        needs=needs,
        files=manifest.files,
        components=components_of(manifest),
        memory=_memory(manifest, needs),
        problems=(),
    )


def _memory(manifest: Manifest, needs: DeviceNeeds | None) -> tuple[Memory, ...]:
    if needs is None:
        return ()
    built = sum(manifest.files[name].size for name in manifest.built)
    memory = []
    for index, axes in enumerate((needs.profiles or ({},))[:_MAX_PROFILES]):
        sizes = [_bytes(tensor, axes) for tensor in manifest.tensors]
        known = [size for size in sizes if size is not None]
        memory.append(Memory(index, built, sum(known), len(known) == len(sizes)))
    return tuple(memory)


def _bytes(tensor: EngineTensor, axes: Mapping[str, int]) -> int | None:
    """Bytes of a tensor with every named axis at its greatest."""
    dtype = BY_NAME.get(tensor.dtype)
    if dtype is None or len(tensor.shape) > _MAX_DIMS:
        return None
    bits = dtype.bits
    for dim in tensor.shape:
        known = axes.get(dim) if isinstance(dim, str) else dim
        if known is None or not 0 <= known < _MAX_DIM:
            return None
        bits *= known
    return -(-bits // 8)

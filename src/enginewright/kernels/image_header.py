"""What a cubin and a PTX file say of themselves, against which their descriptor is checked.

Cubins were read as ptxas of CUDA 12.4, 12.8 and 13.0 write them for 7.5 to 12.1: ABI version 7 has
the compute capability in the lowest byte of `e_flags`, version 8 in the second one. The variant
(`a`, `f`) is not in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from enginewright.compatibility.version import ComputeCapability
from enginewright.elf import ElfError, read_elf
from enginewright.errors import InputError

_EM_CUDA = 190
_SHIFTS = {7: 0, 8: 8}
"""By ABI version, where the compute capability lies in `e_flags`."""
_VERSION = re.compile(r"^\s*\.version\s+(\d{1,3}\.\d{1,3})\s*$", re.MULTILINE | re.ASCII)
_TARGET = re.compile(r"^\s*\.target\s+(sm_\d{2,4}[af]?)\b", re.MULTILINE | re.ASCII)
_HEADER = 1 << 16
"""Bytes of a PTX file in which its directives stand; comments may come first."""


class ImageError(Exception):
    """The file is no code that this module reads; the text says why."""


@dataclass(frozen=True)
class PtxHeader:
    version: str
    target: ComputeCapability


def cubin_capability(path: Path) -> ComputeCapability:
    """The compute capability, without variant, that a cubin was assembled for."""
    try:
        info = read_elf(path)
    except ElfError as error:
        raise ImageError(str(error)) from error
    if info.machine != _EM_CUDA:
        raise ImageError(f"an ELF file for machine {info.machine}, not a cubin ({_EM_CUDA})")
    if info.abi_version not in _SHIFTS:
        known = " and ".join(map(str, _SHIFTS))
        raise ImageError(f"a cubin of ABI version {info.abi_version}; {known} are known here")
    number = info.flags >> _SHIFTS[info.abi_version] & 0xFF
    return ComputeCapability(number // 10, number % 10)


def ptx_header(path: Path) -> PtxHeader:
    """Version and target of a PTX file."""
    try:
        with path.open("rb") as stream:
            text = stream.read(_HEADER).decode("utf-8", "replace")
    except OSError as error:
        raise ImageError(error.strerror or "cannot be read") from error
    version, target = _VERSION.search(text), _TARGET.search(text)
    if not version or not target:
        raise ImageError("no `.version` and `.target` of PTX")
    try:
        return PtxHeader(version[1], ComputeCapability.parse(target[1]))
    except InputError as error:
        raise ImageError(f"`.target` is {target[1]}") from error

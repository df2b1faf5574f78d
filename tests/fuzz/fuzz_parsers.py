"""Fuzz everything that reads files of strangers, with atheris.

    PYTHONPATH=src python tests/fuzz/fuzz_parsers.py TARGET -max_total_time=60 [CORPUS]

Each target gets bytes and may raise the errors that its reader promises, nothing else. Options
after the target are libFuzzer's; `-timeout=5 -rss_limit_mb=1024` make a hang or a bomb a
failure. Without a target the names are printed. docs/cases.md says how many inputs were run.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["enginewright"]):
    from enginewright.checkpoint.safetensors_header import parse_header, read_header
    from enginewright.doctor.engine_facts import engine_facts
    from enginewright.doctor.log_ending import fatal_ending
    from enginewright.doctor.messages import explain, read_log
    from enginewright.document import decode
    from enginewright.elf import ElfError, parse_elf
    from enginewright.engines.check import inside
    from enginewright.errors import InputError
    from enginewright.host.bundle import parse_bundle
    from enginewright.host.captured import Capture, CapturedSource
    from enginewright.host.fact import to_json
    from enginewright.host.ld_cache import MAGIC, parse
    from enginewright.host.probe import probe
    from enginewright.kernels.check import kernel_problems
    from enginewright.kernels.image_header import ImageError, cubin_capability, ptx_header
    from enginewright.memory.model_shape import model_shape
    from enginewright.toolchains.lock_file import parse_lock_file, selected
    from enginewright.toolchains.markers import linux_x86_64
    from enginewright.toolchains.request import LockRequest
    from enginewright.toolchains.toolchain import Toolchain
    from enginewright.toolchains.wheel import libraries_in

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-"))
INDEX = {
    "format": 1, "files": [], "directories": {}, "statuses": {}, "sizes": {}, "variables": {},
    "python_paths": [], "nvml": {}, "now": 0, "missing": {},
}  # fmt: skip


def json_of(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def elf(data: bytes) -> None:
    for prefix in (b"", b"\x7fELF\x02\x01\x01" + bytes(9)):
        with contextlib.suppress(ElfError):
            parse_elf(io.BytesIO(prefix + data), len(prefix) + len(data))


def bundle(data: bytes) -> None:
    with contextlib.suppress(InputError):
        probe(CapturedSource(parse_bundle(gzip.compress(data, 1), Path("b"))))
    with contextlib.suppress(InputError):
        parse_bundle(data, Path("b"))


def bundle_index(data: bytes) -> None:
    """A well-formed tar around any index, with NVML's answers and files of its choosing."""
    index = json_of(data)
    if not isinstance(index, dict):
        return
    raw = io.BytesIO()
    import tarfile

    with tarfile.open(fileobj=raw, mode="w") as tar:
        text = json.dumps({**INDEX, "nvml": index, **index, "format": 1}).encode()
        entry = tarfile.TarInfo("bundle.json")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    with contextlib.suppress(InputError):
        probe(CapturedSource(parse_bundle(gzip.compress(raw.getvalue(), 1), Path("b"))))


def system_files(data: bytes) -> None:
    """One text for every file that the probe reads."""
    names = (
        "/proc/driver/nvidia/version", "/etc/os-release", "/proc/mounts", "/proc/1/cgroup",
        "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/cpu.max", "/usr/include/NvInferVersion.h",
        "/usr/local/cuda/version.json", "/etc/ld.so.cache", "/proc/sys/kernel/osrelease",
        "/proc/meminfo", "/etc/nv_tegra_release", "/proc/device-tree/model",
    )  # fmt: skip
    capture = Capture(files=dict.fromkeys(names, data), directories={"/usr/local": ("cuda",)})
    json.dumps(to_json(probe(CapturedSource(capture))))


def ld_cache(data: bytes) -> None:
    parse(MAGIC + data)


def engine_json(data: bytes) -> None:
    document = json_of(data)
    if isinstance(document, dict):
        facts = engine_facts(document, "engine.json")
        for name in facts.files:
            path = inside(FOLDER, name)
            assert path is None or path.resolve().is_relative_to(FOLDER.resolve())


def log(data: bytes) -> None:
    path = FOLDER / "log"
    path.write_bytes(data)
    explain(read_log(path))
    fatal_ending(read_log(path))


def kernels(data: bytes) -> None:
    """A descriptor of kernels, and code, of any bytes."""
    (FOLDER / "kernels.json").write_bytes(data)
    kernel_problems(FOLDER)
    (FOLDER / "code").write_bytes(data)
    for read in (cubin_capability, ptx_header):
        with contextlib.suppress(ImageError):
            read(FOLDER / "code")


def lock_file(data: bytes) -> None:
    with contextlib.suppress(InputError):
        selected(parse_lock_file(data.decode("utf-8", "replace"), "lock"), linux_x86_64("3.11"))


def toml(data: bytes) -> None:
    try:
        document = tomllib.loads(data.decode("utf-8", "replace"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return
    for kind in (LockRequest, Toolchain):
        with contextlib.suppress(InputError):
            decode(kind, document, "t.toml")


def config_json(data: bytes) -> None:
    document = json_of(data)
    if isinstance(document, dict):
        with contextlib.suppress(InputError):
            model_shape(document, "config.json")


def safetensors(data: bytes) -> None:
    path = FOLDER / "model.safetensors"
    path.write_bytes(data)
    with contextlib.suppress(InputError):
        read_header(path)
    with contextlib.suppress(InputError):
        parse_header(data, 8 + 2 * len(data), "model.safetensors")


def wheel(data: bytes) -> None:
    path = FOLDER / "a.whl"
    path.write_bytes(data)
    with contextlib.suppress(InputError):
        libraries_in(path, ("libtensorrt",))


TARGETS: dict[str, Callable[[bytes], None]] = {
    function.__name__: function
    for function in (
        elf, bundle, bundle_index, system_files, ld_cache, engine_json, log, kernels, lock_file,
        toml, config_json, safetensors, wheel,
    )
}  # fmt: skip


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit("targets: " + ", ".join(TARGETS))
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

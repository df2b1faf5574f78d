"""An engine's package by itself."""

import hashlib
import json
import struct
from pathlib import Path

import pytest
from engine_document import plan_document

from enginewright.doctor.engine_facts import read_engine
from enginewright.doctor.package import package_findings
from enginewright.errors import InputError


def elf(needed: tuple[str, ...] = (), exports: tuple[str, ...] = ()) -> bytes:
    """A shared library with a dynamic section and nothing else; addresses equal file offsets."""
    strings, symbols = b"\0", bytes(24)
    entries = []
    for name in needed:
        entries.append((1, len(strings)))
        strings += name.encode() + b"\0"
    for name in exports:
        symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 7, 0x1000, 8)
        strings += name.encode() + b"\0"
    base = 64 + 2 * 56
    table = struct.pack("<II", 1, len(symbols) // 24)
    at_strings = base + len(table) + len(symbols)
    entries += [(4, base), (6, base + len(table)), (5, at_strings), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    at_dynamic = at_strings + len(strings)
    size = at_dynamic + len(dynamic)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    found = struct.pack(
        "<IIQQQQQQ", 2, 6, at_dynamic, at_dynamic, at_dynamic, len(dynamic), len(dynamic), 8
    )
    return header + load + found + table + symbols + strings + dynamic


def package(folder: Path, files: dict[str, bytes], **fields: object) -> Path:
    folder.mkdir(exist_ok=True)
    files = {"engine.plan": b"plan", **files}
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    manifest = plan_document(
        {"compute_capabilities": ["8.9"]},
        product={"name": "tensorrt", "version": "10.13.3.9"},
        files={
            name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            for name, data in files.items()
        },
        **fields,
    )
    (folder / "engine.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def findings(folder: Path):
    return package_findings(folder, read_engine(folder))


def codes(folder: Path) -> list[str]:
    return [finding.code for finding in findings(folder)]


def test_a_sound_package_has_no_findings(tmp_path):
    assert codes(package(tmp_path / "e", {"libx.so": elf(("libcudart.so.13",))})) == []


def test_row_07_two_cuda_majors_in_one_package(tmp_path):
    folder = package(
        tmp_path / "e",
        {"lib/liba.so": elf(("libcudart.so.13",)), "lib/libb.so.1": elf(("libcublas.so.12",))},
    )
    (finding,) = findings(folder)
    assert finding.code == "engine.cuda-majors"
    assert finding.seen == "CUDA 12: lib/libb.so.1; CUDA 13: lib/liba.so, engine.json"


def test_row_07_a_library_for_another_major_than_the_engines(tmp_path):
    folder = package(tmp_path / "e", {"libx.so": elf(("libcudart.so.12",))})
    assert codes(folder) == ["engine.cuda-majors"]


def test_row_12_a_plugin_whose_file_is_not_in_the_package(tmp_path):
    plugin = {"name": "DecodePlugin", "version": "1", "path": "libdecode.so"}
    (finding,) = findings(package(tmp_path / "e", {}, plugins=[plugin]))
    assert finding.code == "engine.plugin-missing"
    assert "`DecodePlugin`" in finding.seen
    assert "`libdecode.so`" in finding.seen


def test_row_12_a_plugin_inside_the_plan_needs_no_file(tmp_path):
    plugin = {"name": "DecodePlugin", "embedded": True}
    assert codes(package(tmp_path / "e", {}, plugins=[plugin])) == []


def test_row_51_a_plugin_without_an_entry_point(tmp_path):
    library = elf(("libnvinfer.so.10",), ("createDecode",))
    plugins = [{"name": "DecodePlugin", "path": "libdecode.so"}]
    (finding,) = findings(package(tmp_path / "e", {"libdecode.so": library}, plugins=plugins))
    assert finding.code == "engine.plugin-entry-point"
    assert "getCreators" in finding.seen


def test_row_51_a_plugin_linked_against_another_tensorrt(tmp_path):
    library = elf(("libnvinfer.so.8",), ("getCreators",))
    plugins = [{"name": "DecodePlugin", "path": "libdecode.so"}]
    (finding,) = findings(package(tmp_path / "e", {"libdecode.so": library}, plugins=plugins))
    assert finding.code == "engine.tensorrt-major"
    assert "needs libnvinfer.so.8" in finding.seen
    assert "10.13.3.9" in finding.seen


def test_row_51_a_fitting_plugin_passes(tmp_path):
    library = elf(("libnvinfer.so.10", "libcudart.so.13"), ("getCreators",))
    plugins = [{"name": "DecodePlugin", "path": "libdecode.so"}]
    assert codes(package(tmp_path / "e", {"libdecode.so": library}, plugins=plugins)) == []


def test_a_missing_kernel_file_and_a_broken_library(tmp_path):
    folder = package(
        tmp_path / "e", {"liby.so": b"version https://git-lfs"}, kernels=[{"path": "k"}]
    )
    assert codes(folder) == ["engine.kernel-missing", "engine.library-unreadable"]


def test_missing_and_changed_files_are_both_named(tmp_path):
    folder = package(tmp_path / "e", {"tokenizer.json": b"{}", "k.fatbin": b"k"})
    (folder / "tokenizer.json").unlink()
    (folder / "engine.plan").write_bytes(b"other")
    assert codes(folder) == ["engine.file-changed", "engine.file-missing"]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "a\0b", ""])
def test_names_outside_the_package_are_not_opened(tmp_path, name):
    (tmp_path / "secret").write_bytes(b"s")
    folder = package(tmp_path / "e", {})
    manifest = json.loads((folder / "engine.json").read_text(encoding="utf-8"))
    manifest["files"][name] = {"sha256": "0" * 64, "size": 1}
    (folder / "engine.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert codes(folder) == ["engine.unsafe-path"]


def test_a_manifest_of_an_earlier_format_says_what_to_do(tmp_path):
    folder = package(tmp_path / "e", {})
    manifest = json.loads((folder / "engine.json").read_text(encoding="utf-8"))
    (folder / "engine.json").write_text(json.dumps({**manifest, "format": 1}), encoding="utf-8")
    (folder / "engine.plan").write_bytes(b"other")
    first, second = findings(folder)
    assert (first.code, second.code) == ("engine.manifest", "engine.file-changed")
    assert "package the engine again with this version" in first.seen


def test_a_field_that_is_missing_is_a_finding_and_files_are_checked(tmp_path):
    folder = package(tmp_path / "e", {"tokenizer.json": b"{}"})
    manifest = json.loads((folder / "engine.json").read_text(encoding="utf-8"))
    del manifest["task"]
    (folder / "engine.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    assert codes(folder) == ["engine.manifest", "engine.file-missing"]


def test_no_engine_says_what_to_name(tmp_path):
    with pytest.raises(InputError, match="name the folder of a packaged engine"):
        read_engine(tmp_path)


@pytest.mark.parametrize(
    "text", ['{"product":', "[1]", "\x00", "[" * 100000, '{"a": 1' + "0" * 5000]
)
def test_an_engine_json_that_is_none(tmp_path, text):
    (tmp_path / "engine.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_engine(tmp_path)

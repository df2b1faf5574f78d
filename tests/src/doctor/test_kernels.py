"""Kernels of a package against the device and its driver."""

import hashlib
import json
import struct

import pytest
from captured_host import capture, codes, gpu, probed

from enginewright.doctor.engine_facts import engine_facts
from enginewright.doctor.finding import Severity
from enginewright.doctor.walk import examine

FLAGS = {"8.0": 0x6005004, "8.6": 0x6005604, "9.0": 0x6005A04, "12.0": 0x6007802}


def cubin(capability: str) -> bytes:
    identity = b"\x7fELF\x02\x01\x01" + bytes([65, 8]) + bytes(7)
    flags = FLAGS[capability]
    return identity + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 0, flags, 64, 0, 0, 0, 0, 0)


def package(folder, capabilities=("8.6",), ptx=None):
    """An engine whose package has kernels; `ptx` is a pair of version and capability."""
    kernels = folder / "kernels" / "csrc"
    kernels.mkdir(parents=True)

    def entry(name, data, **more):
        (kernels / name).write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        return {"file": name, "sha256": digest, "size": len(data), **more}

    kept = None
    if ptx:
        version, target = ptx
        text = f".version {version}\n.target sm_{target.replace('.', '')}\n".encode()
        kept = entry("scale.ptx", text, compute_capability=target, version=version)
    tool = {"name": "tool", "version": "1"}
    source = {
        "name": "scale",
        "source": {"file": "csrc/scale.cu", "sha256": "0" * 64, "size": 1},
        "fatbin": entry("scale.fatbin", b"both"),
        "cubins": [
            entry(f"scale.{one}.cubin", cubin(one), compute_capability=one) for one in capabilities
        ],
        "ptx": kept,
        "kernels": [{"name": "scale", "parameters": [], "max_threads": None, "resources": {}}],
    }
    document = {
        "format": 1,
        "toolkit": tool,
        "host_compiler": tool,
        "flags": [],
        "compute_capabilities": list(capabilities),
        "ptx_version": "9.0",
        "sources": [source],
    }
    (kernels / "kernels.json").write_text(json.dumps(document))
    return folder


ENGINE = engine_facts(
    {
        "product": {"name": "tensorrt", "version": "10.1.0.27"},
        "cuda": "12.4",
        "minimum_driver": "525.60.13",
        "compute_capabilities": [],
        "files": {"engine.plan": {"sha256": "0" * 64, "size": 1}},
    },
    "engine.json",
)


def kernel_codes(folder, capability, driver="580.159.04", cuda=13000):
    made = capture(gpus=(gpu("a GPU", capability),), module=driver, library=driver)
    made.nvml = {**made.nvml, "cuda_driver_version": cuda}
    found = examine(probed(made), ENGINE, folder)
    return [code for code in codes(found) if code.startswith("kernels.")], found


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((8, 6), []),
        ((8, 9), []),
        ((8, 0), ["kernels.no-code-for-device"]),
        ((9, 0), ["kernels.no-code-for-device"]),
        ((12, 0), ["kernels.no-code-for-device"]),
        ((8, 7), ["kernels.other-family"]),
    ],
)
def test_machine_code_and_the_device(tmp_path, capability, expected):
    assert kernel_codes(package(tmp_path), capability)[0] == expected


@pytest.mark.parametrize(
    ("version", "cuda", "expected"),
    [
        ("8.4", 12040, []),
        ("8.4", 13000, []),
        ("8.8", 12040, ["kernels.ptx-too-new"]),
        ("9.0", 12080, ["kernels.ptx-too-new"]),
        ("9.9", 13000, ["kernels.unknown-ptx"]),
        ("42.0", 99000, ["kernels.unknown-ptx"]),
    ],
)
def test_ptx_and_the_driver(tmp_path, version, cuda, expected):
    folder = package(tmp_path, ptx=(version, "8.6"))
    found, diagnosis = kernel_codes(folder, (9, 0), cuda=cuda)
    assert found == expected
    assert diagnosis.exit_code == 1 or not expected


def test_machine_code_that_fits_needs_no_ptx(tmp_path):
    folder = package(tmp_path, ("8.6", "9.0"), ptx=("42.0", "9.0"))
    assert kernel_codes(folder, (9, 0))[0] == []


def test_without_nvml_the_table_says_what_the_driver_reads(tmp_path):
    folder = package(tmp_path, ptx=("9.0", "8.6"))
    assert kernel_codes(folder, (9, 0), "550.54.14", cuda=None)[0] == ["kernels.ptx-too-new"]


def test_damage_is_found_whatever_the_host(tmp_path):
    folder = package(tmp_path)
    (folder / "kernels" / "csrc" / "scale.8.6.cubin").write_bytes(cubin("8.0"))
    made = capture(module=None, library=None, nodes=(), gpus=(), error={"error": "none"})
    diagnosis = examine(probed(made), ENGINE, folder)
    (finding,) = [one for one in diagnosis.findings if one.code == "kernels.package"]
    assert finding.severity == Severity.ERROR
    assert "is not the one in the descriptor" in finding.seen

"""The step `compile_kernels` with the real compiler, where its wheels are on the import path."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from step_process import run_module, write_request

from enginewright.actions import compile_kernels
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.kernels.check import kernel_problems
from enginewright.kernels.compile.toolkit import find_toolkit

SOURCE = """\
#include "scale.cuh"
extern "C" __global__ void __launch_bounds__(256)
    scale(const float* x, float* y, int64_t count, float factor) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < count) y[i] = scaled(x[i], factor);
}
"""
HEADER = """\
#pragma once
#include <stdint.h>
__device__ inline float scaled(float x, float factor) { return x * factor; }
"""
SPILLING = """\
extern "C" __global__ void spilling(float* x) {
  float values[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) values[i] = x[i * 32];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i * 32] = values[63 - i] * values[i];
}
"""
GXX = "/usr/bin/g++"


def has_toolkit():
    try:
        find_toolkit(sys.path, Path(os.devnull))
    except InputError:
        return False
    return True


# Where Pants runs the tests, it brings the wheels: then they must be found.
pytestmark = pytest.mark.skipif(
    "CI" not in os.environ and not has_toolkit(), reason="no CUDA wheels on the import path"
)


def ask(folder, sources, headers=(), **parameters):
    """Write a request in `folder` for files that are there already."""
    version = subprocess.check_output([GXX, "-dumpfullversion"], text=True).strip()
    standard = {
        "compute_capabilities": ["9.0"],
        "ptx": None,
        "flags": ["-O3"],
        "include_dirs": ["csrc"],
        "host_compiler": {"name": "gcc", "version": version},
    }
    inputs = {"sources": sources, "headers": headers}
    write_request(folder, "compile_kernels", inputs, {**standard, **parameters})


def run(folder):
    ran = run_module(folder, compile_kernels.__name__)
    return ran.code, ran.errors


def workspace(folder, text=SOURCE):
    (folder / "csrc").mkdir(parents=True)
    (folder / "csrc/scale.cu").write_text(text)
    (folder / "csrc/scale.cuh").write_text(HEADER)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "outputs").iterdir())}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = workspace(tmp_path_factory.mktemp("first"))
    ask(
        folder,
        ["csrc/scale.cu"],
        ["csrc/scale.cuh"],
        compute_capabilities=["12.0", "8.0"],
        ptx=True,
    )
    code, errors = run(folder)
    assert code == 0, errors
    return folder


def test_outputs(built):
    assert list(contents(built)) == [
        "digests.json",
        "kernels.json",
        "result.json",
        "scale.compute_120.ptx",
        "scale.fatbin",
        "scale.sm_120.cubin",
        "scale.sm_80.cubin",
    ]


def test_what_the_compiler_wrote_is_what_the_descriptor_says(built):
    assert kernel_problems(built / "outputs", ["scale"]) == []


def test_the_descriptor(built):
    document = json.loads((built / "outputs/kernels.json").read_text())
    assert document["toolkit"] == {"name": "cuda", "version": "13.0.88"}
    assert document["ptx_version"] == "9.0"
    assert document["compute_capabilities"] == ["8.0", "12.0"]
    (source,) = document["sources"]
    assert source["source"]["file"] == "csrc/scale.cu"
    assert source["ptx"]["compute_capability"] == "12.0"
    cubin = source["cubins"][0]
    assert cubin["sha256"] == FileDigest.of(built / "outputs" / cubin["file"]).sha256
    (kernel,) = source["kernels"]
    assert kernel["name"] == "scale"
    assert kernel["max_threads"] == 256
    assert [parameter["name"] for parameter in kernel["parameters"]] == [
        "x",
        "y",
        "count",
        "factor",
    ]
    assert [parameter["type"] for parameter in kernel["parameters"]] == [
        "pointer",
        "pointer",
        "int64",
        "float32",
    ]
    resources = kernel["resources"]["8.0"]
    assert 4 <= resources["registers"] <= 32
    assert resources["spill_stores"] == 0


def test_bytes_are_equal_from_another_path(built, tmp_path):
    folder = workspace(tmp_path / "a" / "deeper" / "place")
    shutil.copy(built / "request.json", folder)
    code, errors = run(folder)
    assert code == 0, errors
    assert contents(folder) == contents(built)


def test_no_output_names_the_host(built):
    for name, data in contents(built).items():
        assert str(built).encode() not in data, name


def failure(folder, **parameters):
    ask(folder, ["csrc/scale.cu"], ["csrc/scale.cuh"], **parameters)
    code, errors = run(folder)
    assert code == 1, errors
    assert "Traceback" not in errors
    assert not (folder / "outputs/result.json").exists()
    return errors


def test_an_error_in_the_source(tmp_path):
    errors = failure(workspace(tmp_path, SOURCE.replace("scaled(", "scaled_wrong(")))
    assert 'identifier "scaled_wrong" is undefined' in errors
    assert "csrc/scale.cu, line 5" in errors


def test_a_missing_header(tmp_path):
    folder = workspace(tmp_path, '#include "gone.cuh"\n' + SOURCE)
    errors = failure(folder)
    assert "gone.cuh: No such file or directory" in errors
    assert "csrc/scale.cu, line 1" in errors
    assert "have a `cuda_headers` target own it, or name its folder in `include_dirs`" in errors


def test_two_sources_of_one_name(tmp_path):
    folder = workspace(tmp_path)
    (folder / "other").mkdir()
    (folder / "other/scale.cu").write_text(SOURCE)
    ask(folder, ["csrc/scale.cu", "other/scale.cu"], ["csrc/scale.cuh"])
    code, errors = run(folder)
    assert code == 1
    assert "two sources have the same name, and so would their outputs" in errors
    assert "where:    csrc/scale.cu" in errors
    assert "where:    other/scale.cu" in errors


def test_an_architecture_that_the_toolkit_does_not_know(tmp_path):
    errors = failure(workspace(tmp_path), compute_capabilities=["9.0", "5.2"])
    assert "CUDA toolkit 13.0 cannot compile for compute capability 5.2" in errors
    assert "use a toolkit that can: 11.8, 12.1" in errors


def test_code_for_one_chip_alone(tmp_path):
    folder = workspace(tmp_path)
    ask(
        folder,
        ["csrc/scale.cu"],
        ["csrc/scale.cuh"],
        compute_capabilities=["9.0a", "10.0f"],
        ptx="9.0a",
    )
    code, errors = run(folder)
    assert code == 0, errors
    names = {"scale.sm_90a.cubin", "scale.sm_100f.cubin", "scale.compute_90a.ptx", "scale.fatbin"}
    assert names < contents(folder).keys()
    document = json.loads((folder / "outputs/kernels.json").read_text())
    assert document["compute_capabilities"] == ["9.0a", "10.0f"]
    assert [one["compute_capability"] for one in document["sources"][0]["cubins"]] == [
        "9.0a",
        "10.0f",
    ]
    assert kernel_problems(folder / "outputs") == []
    assert ".target sm_90a" in (folder / "outputs/scale.compute_90a.ptx").read_text()


def test_a_host_compiler_that_the_toolkit_refuses(tmp_path):
    errors = failure(workspace(tmp_path), host_compiler={"name": "gcc", "version": "99.1.0"})
    assert "CUDA 13.0 refuses this host compiler" in errors
    assert "crt/host_config.h, line " in errors


def test_spills_that_max_registers_forbids(tmp_path):
    folder = workspace(tmp_path, SPILLING)
    errors = failure(folder, max_registers=24)
    assert "a kernel spills registers to local memory within 24 registers" in errors
    assert "csrc/scale.cu, kernel `spilling`, compute capability 9.0" in errors


def test_spills_that_are_permitted_are_reported(tmp_path):
    folder = workspace(tmp_path, SPILLING)
    ask(folder, ["csrc/scale.cu"], max_registers=24, forbid_spills=False)
    code, errors = run(folder)
    assert code == 0, errors
    document = json.loads((folder / "outputs/kernels.json").read_text())
    resources = document["sources"][0]["kernels"][0]["resources"]["9.0"]
    assert resources["spill_stores"] > 0
    assert resources["registers"] <= 24


def test_all_problems_of_the_parameters_at_once(tmp_path):
    errors = failure(
        workspace(tmp_path),
        compute_capabilities=["9", "9.0"],
        flags=["-O3", "-arch=sm_90"],
        include_dirs=["/usr/include"],
        max_registers=1000,
    )
    for text in (
        "parameters, compute_capabilities[0]",
        "parameters, flags[1]",
        "a flag of nvcc that no field of the target stands for",
        "parameters, include_dirs[0]",
        "a text, relative, such as csrc",
        "an integer or null, 16 to 255",
    ):
        assert text in errors


def test_a_compute_capability_that_is_named_twice(tmp_path):
    errors = failure(workspace(tmp_path), compute_capabilities=["9.0", "9.0"])
    assert "parameters, compute_capabilities" in errors
    assert "each once" in errors

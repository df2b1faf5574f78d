"""The step `compile_extension` with the host's compiler."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from step_process import write_request

from enginewright.actions import compile_extension
from enginewright.hashing import FileDigest
from enginewright.step import run_step

GXX = "/usr/bin/g++"

SOURCE = """\
#include <pybind11/pybind11.h>
#include "twice.h"
PYBIND11_MODULE(small, module) { module.def("twice", &twice); }
"""


def request(folder, text=SOURCE, **parameters):
    (folder / "src").mkdir(parents=True)
    (folder / "src/small.cpp").write_text(text)
    (folder / "src/twice.h").write_text("inline int twice(int x) { return 2 * x; }\n")

    version = subprocess.check_output([GXX, "-dumpfullversion"], text=True).strip()
    standard = {
        "name": "small",
        "flags": ["-O0", "-std=c++17"],
        "include_dirs": [],
        "host_compiler": {"name": "gcc", "version": version},
    }
    inputs = {"sources": ["src/small.cpp"], "headers": ["src/twice.h"]}
    write_request(folder, "compile_extension", inputs, {**standard, **parameters})


def run(folder):
    with contextlib.chdir(folder):
        return run_step(compile_extension.run, Path("request.json"), Path("outputs"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    request(folder)
    assert run(folder) == 0
    return folder


def test_a_module_that_imports(built):
    result = json.loads((built / "outputs/result.json").read_text())
    assert result["sha256"] == FileDigest.of(built / "outputs" / result["file"]).sha256
    program = f"import sys; sys.path.insert(0, {str(built / 'outputs')!r})\n"
    program += "import small; print(small.twice(21))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "42\n"


def test_bytes_are_equal_from_another_path(built, tmp_path):
    folder = tmp_path / "another" / "deeper"
    request(folder)
    assert run(folder) == 0
    assert (folder / "outputs/result.json").read_text() == (
        built / "outputs/result.json"
    ).read_text()


def test_an_error_in_the_source(tmp_path, capsys):
    request(tmp_path, SOURCE.replace("&twice", "&thrice"))
    assert run(tmp_path) == 1
    errors = capsys.readouterr().err
    assert "thrice" in errors
    assert "src/small.cpp, line 3" in errors


def test_all_problems_of_the_parameters_at_once(tmp_path, capsys):
    request(tmp_path, name="not a name", sanitizers=["address", "memory"])
    assert run(tmp_path) == 1
    errors = capsys.readouterr().err
    assert "expected: the name of a module" in errors
    assert "where:    parameters, sanitizers[1]" in errors
    assert "expected: one of address, undefined" in errors

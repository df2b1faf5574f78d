import pytest

from enginewright.document import decode
from enginewright.errors import InputError
from enginewright.kernels.compile.host_compiler import HostCompiler

HOST_CONFIG = """\
#if defined(__GNUC__)

#if __GNUC__ > 15

#error -- unsupported GNU version! gcc versions later than 15 are not supported!

#endif /* __GNUC__ > 15 */
"""


@pytest.fixture
def includes(tmp_path):
    (tmp_path / "crt").mkdir()
    (tmp_path / "crt/host_config.h").write_text(HOST_CONFIG)
    return [tmp_path / "not_there", tmp_path]


def test_a_supported_version(includes):
    HostCompiler("gcc", "15.2.0", "/usr/bin/g++").require_supported(includes, "13.0")


def test_a_version_that_the_toolkit_refuses(includes):
    with pytest.raises(InputError) as caught:
        HostCompiler("gcc", "16.1.0", "/usr/bin/g++").require_supported(includes, "13.0")
    (problem,) = caught.value.problems
    assert problem.what == "CUDA 13.0 refuses this host compiler"
    assert problem.where == "crt/host_config.h, line 3"
    assert (problem.expected, problem.actual) == ("gcc up to 15", "gcc 16.1.0")


def test_unknown_names_and_versions():
    with pytest.raises(InputError) as caught:
        decode(HostCompiler, {"name": "icc", "version": "new"}, "host_compiler")
    assert [(problem.where, problem.expected) for problem in caught.value.problems] == [
        ("host_compiler, name", "gcc"),
        ("host_compiler, version", "the version of a compiler, such as 12.2.0"),
    ]


def fake_compiler(tmp_path, version):
    program = tmp_path / "g++"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    return str(program)


def test_the_installed_version_is_checked(tmp_path):
    HostCompiler("gcc", "12.2.0", fake_compiler(tmp_path, "12.2.0")).require_installed()
    with pytest.raises(InputError) as caught:
        HostCompiler("gcc", "12.2.0", fake_compiler(tmp_path, "13.1.0")).require_installed()
    assert caught.value.problems[0].actual == "gcc 13.1.0"


def test_a_compiler_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not run"):
        HostCompiler("gcc", "12.2.0", str(tmp_path / "none")).require_installed()

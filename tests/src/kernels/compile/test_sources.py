from pathlib import Path

from enginewright.kernels.compile.sources import SourceSet


def test_includes_are_found_beside_the_file_and_in_include_directories(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("csrc/norm/a.cu", '#include "common/x.cuh"\n#include "near.cuh"\n')
    write("csrc/norm/near.cuh", '#include "../common/x.cuh"\n')
    write("csrc/common/x.cuh", "")
    sources = SourceSet(
        (Path("csrc/norm/a.cu"),),
        (Path("csrc/norm/near.cuh"), Path("csrc/common/x.cuh")),
        ("csrc",),
    )
    assert list(sources.problems()) == []


def test_every_missing_header_is_named_with_its_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("csrc/a.cu", '\n#include "one.cuh"\n#include "here.cuh"\n')
    write("csrc/here.cuh", '#include "two.cuh"\n')
    problems = list(
        SourceSet((Path("csrc/a.cu"),), (Path("csrc/here.cuh"),), ("include",)).problems()
    )
    assert [(problem.what, problem.where) for problem in problems] == [
        ('no header for #include "one.cuh"', "csrc/a.cu, line 2"),
        ('no header for #include "two.cuh"', "csrc/here.cuh, line 1"),
    ]
    assert problems[0].expected == "one of csrc/one.cuh, include/one.cuh"
    assert problems[0].actual == "headers are csrc/here.cuh"


def test_a_header_that_is_there_but_not_declared_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.cu", '#include "b.cuh"\n')
    write("b.cuh", "")
    (problem,) = SourceSet((Path("a.cu"),), (), ()).problems()
    assert problem.actual == "headers are none"


def test_two_sources_of_one_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("x/a.cu", "")
    write("y/a.cu", "")
    problems = list(SourceSet((Path("x/a.cu"), Path("y/a.cu")), (), ()).problems())
    assert [problem.where for problem in problems] == ["x/a.cu", "y/a.cu"]


def write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)

from enginewright.errors import Problem
from enginewright.kernels.compile.diagnostics import compiler_problems

NVCC = """\
csrc/a.cu(3): error: identifier "y" is undefined
    y[0] = 1;
    ^

csrc/a.cu(7): error: expected a ";"
  }
  ^
2 errors detected in the compilation of "csrc/a.cu".
"""
PREPROCESSOR = """\
csrc/a.cu:1:10: fatal error: missing.h: No such file or directory
    1 | #include <missing.h>
compilation terminated.
"""


def test_errors_of_nvcc_with_file_and_line():
    assert compiler_problems(NVCC, "csrc/a.cu") == [
        Problem('identifier "y" is undefined', "csrc/a.cu, line 3"),
        Problem('expected a ";"', "csrc/a.cu, line 7"),
    ]


def test_errors_of_the_preprocessor():
    assert compiler_problems(PREPROCESSOR, "csrc/a.cu") == [
        Problem(
            "missing.h: No such file or directory",
            "csrc/a.cu, line 1",
            fix="have a `cuda_headers` target own it, or name its folder in `include_dirs`",
        )
    ]


def test_errors_of_the_tools():
    assert compiler_problems("nvcc fatal   : Unknown option '--wrong'\n", "a.cu") == [
        Problem("Unknown option '--wrong'", "a.cu")
    ]


def test_what_is_not_understood_is_shown():
    (problem,) = compiler_problems("Segmentation fault\n", "a.cu")
    assert problem == Problem("the CUDA compiler failed", "a.cu", actual="Segmentation fault")


def test_hundreds_of_errors_are_cut():
    output = "".join(f"a.cu({line}): error: wrong {line}\n" for line in range(1, 101))
    problems = compiler_problems(output, "a.cu")
    assert len(problems) == 21
    assert problems[-1].what == "and 80 more errors"

"""Which headers a source includes, and where they may lie."""

from __future__ import annotations

from pants_enginewright.kernels.includes import candidates, quoted_includes

SOURCE = """\
#include "norm.cuh"
  #  include "common/vector.h"
#include <cuda_runtime.h>
// #include "old.h"
/* #include "older.h"
   #include "oldest.h" */
const char* text = "/*";
const char* other = "#include \\"text.h\\"";
#if 0
#include "never.h"
#endif
const char* end = "*/";
"""


def test_includes_outside_comments_and_strings() -> None:
    assert quoted_includes(SOURCE) == ("norm.cuh", "common/vector.h", "never.h")


def test_the_folder_of_the_file_comes_first() -> None:
    assert candidates("csrc/norm/norm.cu", "../common/v.h", ("csrc", "csrc/x")) == (
        "csrc/common/v.h",
        "common/v.h",
        "csrc/common/v.h",
    )

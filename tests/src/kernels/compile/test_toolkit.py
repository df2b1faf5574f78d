import os

import pytest

from enginewright.errors import InputError
from enginewright.kernels.compile.toolkit import DATA, TOOLS, find_toolkit

SCRIPT = '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"\n'


def wheels(folder, names, *, executable=True):
    for name in names:
        path = folder / "nvidia/cu13" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCRIPT)
        path.chmod(0o755 if executable else 0o444)
    return str(folder)


EVERYTHING = (*TOOLS, *DATA, "include/cuda_runtime.h")


def test_a_complete_folder_is_used_where_it_is(tmp_path):
    entry = wheels(tmp_path / "site", EVERYTHING)
    toolkit = find_toolkit(["/nowhere", entry], tmp_path / "scratch")
    assert toolkit.root == tmp_path / "site/nvidia/cu13"
    assert toolkit.version() == "13.0.88"
    assert toolkit.include_directories == (tmp_path / "site/nvidia/cu13/include",)


def test_lost_executable_bits_are_given_back_in_a_copy(tmp_path):
    entry = wheels(tmp_path / "site", EVERYTHING, executable=False)
    link = tmp_path / "link"
    link.symlink_to(entry)
    toolkit = find_toolkit([str(link)], tmp_path / "scratch")
    assert toolkit.root == tmp_path / "scratch/toolkit"
    assert toolkit.version() == "13.0.88"
    assert not os.access(tmp_path / "site/nvidia/cu13/bin/nvcc", os.X_OK)


def test_wheels_in_folders_of_their_own(tmp_path):
    entries = [wheels(tmp_path / f"site{number}", [name]) for number, name in enumerate(EVERYTHING)]
    toolkit = find_toolkit(entries, tmp_path / "scratch")
    assert toolkit.version() == "13.0.88"
    for name in (*TOOLS, *DATA):
        assert (toolkit.root / name).exists()


def test_everything_that_is_missing_is_named(tmp_path):
    entry = wheels(tmp_path / "site", [*DATA, "bin/nvcc", "include/cuda_runtime.h"])
    with pytest.raises(InputError) as caught:
        find_toolkit([entry], tmp_path / "scratch")
    (problem,) = caught.value.problems
    assert problem.expected == "bin/cudafe++, bin/ptxas, bin/fatbinary, nvvm/bin/cicc"
    assert "nvidia-nvvm" in problem.fix


def test_no_wheels_at_all(tmp_path):
    with pytest.raises(InputError, match="toolkit of the step's environment is incomplete"):
        find_toolkit([str(tmp_path)], tmp_path / "scratch")

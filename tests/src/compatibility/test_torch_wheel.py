"""torch's wheels against GPUs."""

import pytest

from enginewright.compatibility.torch_wheel import wheel_problem


@pytest.mark.parametrize(
    ("build", "gpu"),
    [("cu121", "12.0"), ("cu124", "12.0"), ("cu126", "12.0"), ("cu130", "6.1"), ("cu130", "7.0")],
)
def test_row_09_a_gpu_outside_the_wheels_list_has_no_kernel_image(build, gpu):
    problem = wheel_problem(build, gpu)
    assert f"no kernel image for compute capability {gpu}" in problem.what
    assert problem.where == f"torch_wheel row `{build}`"


def test_row_09_both_ends_are_told_apart():
    assert "newer than" in wheel_problem("cu126", "12.0").what
    assert "cu128" in wheel_problem("cu126", "12.0").fix
    assert "older than" in wheel_problem("cu130", "6.1").what
    assert "cu126" in wheel_problem("cu130", "6.1").fix


@pytest.mark.parametrize(
    ("build", "gpu"),
    [
        ("cu126", "9.0"),
        ("cu128", "12.0"),
        ("cu128", "8.9"),  # machine code of 8.6 runs on 8.9
        ("cu130", "12.1"),
        ("cu129", "13.0"),  # through the PTX of 12.0
    ],
)
def test_row_09_covered_gpus_pass(build, gpu):
    assert wheel_problem(build, gpu) is None

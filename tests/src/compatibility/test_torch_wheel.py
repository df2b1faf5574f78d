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


@pytest.mark.parametrize("build", ["cu124", "cu126", "cu130"])
@pytest.mark.parametrize("gpu", ["5.3", "7.2", "8.7", "11.0"])
def test_row_d6_an_x86_wheel_is_no_plain_yes_for_a_jetson(build, gpu):
    problem = wheel_problem(build, gpu)
    assert problem.what.endswith(f"wheels of this table are for x86-64, and {gpu} is a Jetson")
    assert "aarch64" in problem.expected
    assert "reports disagree" in problem.fix


@pytest.mark.parametrize(("build", "gpu"), [("cu128", "12.1"), ("cu130", "12.1")])
def test_row_d6_gb10_is_no_jetson(build, gpu):
    assert wheel_problem(build, gpu) is None

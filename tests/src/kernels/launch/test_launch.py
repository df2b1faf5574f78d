import ctypes

import pytest

from enginewright.errors import InputError
from enginewright.kernels.descriptor import Pointer, Value
from enginewright.kernels.launch.launch import Launch
from enginewright.kernels.launch.package import PackagedKernel

KERNEL = PackagedKernel(
    "scale",
    (
        Pointer("x", "float16", writable=False),
        Value("count", "int64"),
        Value("flag", "int32"),
        Value("factor", "float32"),
    ),
    256,
    "scale",
)


def launch(*, grid=(1, 1, 1), block=(256, 1, 1), arguments=(0, 1, 0, 2.0)):
    return Launch("scale", grid, block, arguments)


def test_a_launch_that_fits():
    one = launch()
    one.check(KERNEL)
    assert one.c_types(KERNEL) == (
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int32,
        ctypes.c_float,
    )


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (launch(arguments=(0, 1, 0)), "wrong number of arguments"),
        (launch(arguments=(0, 1.0, 0, 2.0)), "wrong argument"),
        (launch(arguments=(0, 1, 2**31, 2.0)), "wrong argument"),
        (launch(arguments=(-1, 1, 0, 2.0)), "wrong argument"),
        (launch(block=(257, 1, 1)), "wrong number of threads in a block"),
        (launch(block=(16, 17, 1)), "wrong number of threads in a block"),
        (launch(block=(1, 1, 65)), "wrong shape of a block"),
        (launch(block=(0, 1, 1)), "wrong shape of a block"),
        (launch(grid=(0, 1, 1)), "wrong number of blocks"),
        (launch(grid=(1, 65536, 1)), "wrong number of blocks"),
    ],
)
def test_a_launch_that_does_not_fit(wrong, what):
    with pytest.raises(InputError, match=what):
        wrong.check(KERNEL)


def test_all_problems_at_once():
    with pytest.raises(InputError) as caught:
        launch(arguments=(-1, 1.5, 0, 2.0), block=(1024, 1, 1)).check(KERNEL)
    assert [problem.where for problem in caught.value.problems] == [
        "kernel `scale`, parameter `x`",
        "kernel `scale`, parameter `count`",
        "kernel `scale`",
    ]


def test_a_parameter_that_cannot_be_passed():
    kernel = PackagedKernel("k", (Value("s", "structure"),), None, "k")
    with pytest.raises(InputError, match="this type cannot be passed"):
        Launch("k", (1, 1, 1), (1, 1, 1), (0,)).check(kernel)

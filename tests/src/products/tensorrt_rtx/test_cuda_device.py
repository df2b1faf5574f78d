from pathlib import Path

import pytest

from enginewright.errors import InputError
from enginewright.products.tensorrt_rtx.cuda_device import CudaDevice, check_device

PLAN = Path("dist/engine.plan")


def refuse(device):
    with pytest.raises(InputError) as caught:
        check_device(device, ["8.6", "8.9"], PLAN)
    return caught.value.problems[0]


def test_no_device():
    problem = refuse(None)
    assert problem.expected == "a GPU of compute capability 8.6, 8.9"
    assert "onnxruntime_engine" in problem.fix


def test_unsupported_by_the_product():
    problem = refuse(CudaDevice("NVIDIA H200", "9.0"))
    assert problem.actual == "NVIDIA H200, compute capability 9.0"
    assert "does not support this GPU at all" in problem.fix


def test_supported_but_not_built_for():
    problem = refuse(CudaDevice("NVIDIA GeForce RTX 5090", "12.0"))
    assert 'add "12.0" to `compute_capabilities`' in problem.fix


def test_built_for_it():
    check_device(CudaDevice("NVIDIA GeForce RTX 4090", "8.9"), ["8.6", "8.9"], PLAN)

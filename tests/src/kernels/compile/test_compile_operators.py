"""The step `compile_operators`: both libraries, loaded on the CPU, against float64."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper
from step_process import write_request

from enginewright.actions import compile_operators
from enginewright.step import run_step

CHECKOUT = Path(__file__).parents[4]
TYPES = {
    "float16": (np.float16, TensorProto.FLOAT16, 2.0**-11),
    "float32": (np.float32, TensorProto.FLOAT, 2.0**-21),
}
EPSILON = 1e-6


def build(folder: Path, interface: str, **parameters: object) -> Path:
    folder.mkdir(parents=True)
    shutil.copytree(CHECKOUT / "csrc", folder / "csrc")
    version = subprocess.check_output(["/usr/bin/g++", "-dumpfullversion"], text=True).strip()
    standard = {
        "name": f"enginewright_{interface}",
        "interface": interface,
        "compute_capabilities": ["9.0"],
        "flags": ["-O3", "-std=c++17"],
        "include_dirs": ["csrc"],
        "host_compiler": {"name": "gcc", "version": version},
    }
    source = f"csrc/operators/{interface}.cu"
    write_request(folder, "compile_operators", {"sources": [source]}, {**standard, **parameters})
    with contextlib.chdir(folder):
        assert run_step(compile_operators.run, Path("request.json"), Path("outputs")) == 0
    return folder / f"outputs/enginewright_{interface}.so"


@pytest.fixture(scope="module")
def for_onnxruntime(tmp_path_factory):
    return build(tmp_path_factory.mktemp("onnxruntime") / "a", "onnxruntime")


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    torch.ops.load_library(str(build(tmp_path_factory.mktemp("torch") / "a", "torch")))
    return torch.ops.enginewright


def values(*shape: int, dtype: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(TYPES[dtype][0])


def norm_of(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight


def turned(x, cosine, sine):
    """x [batch, heads, sequence, dimension]; tables [batch, sequence, half]; the rest passes."""
    half = cosine.shape[-1]
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    c, s = cosine[:, None], sine[:, None]
    return np.concatenate([a * c - b * s, b * c + a * s, rest], -1)


def pooled(x, mask):
    mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / np.linalg.norm(mean, axis=-1, keepdims=True)


def cases(dtype):
    """By operator: inputs as ONNX has them, attributes, and the float64 results."""
    x, residual = (values(3, 5, 200, dtype=dtype, seed=seed) for seed in (1, 2))
    weight = values(200, dtype=dtype, seed=3)
    heads = values(2, 4, 7, 80, dtype=dtype, seed=4)
    cosine, sine = (values(2, 7, 32, dtype=dtype, seed=seed) for seed in (5, 6))
    mask = np.array([[1, 1, 0, 1, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]])
    wide = {name: array.astype(np.float64) for name, array in vars().items() if name != "dtype"}
    total = (wide["x"] + wide["residual"]).astype(TYPES[dtype][0])
    gate = wide["x"] / (1 + np.exp(-wide["x"]))
    turning = {"interleaved": 0, "rotary_embedding_dim": 64}
    tables = (wide["cosine"], wide["sine"])
    return {
        "rms_norm": ((x, weight), {"epsilon": EPSILON}, [norm_of(wide["x"], wide["weight"])]),
        "add_rms_norm": (
            (x, residual, weight),
            {"epsilon": EPSILON},
            [norm_of(total.astype(np.float64), wide["weight"]), wide["x"] + wide["residual"]],
        ),
        "swiglu": ((x, residual), {}, [gate * wide["residual"]]),
        "rotary": ((heads, cosine, sine), turning, [turned(wide["heads"], *tables)]),
        "mean_pool": ((x, mask), {"normalize": 1}, [pooled(wide["x"], mask)]),
    }


def assert_close(results, expected, dtype):
    for result, right in zip(results, expected, strict=True):
        error = np.linalg.norm(np.asarray(result, np.float64) - right) / np.linalg.norm(right)
        assert error < TYPES[dtype][2]


def session(library: Path, name: str, inputs, attributes, outputs) -> list[np.ndarray]:
    names = [f"input{index}" for index in range(len(inputs))]
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(i.dtype), i.shape)
        for n, i in zip(names, inputs, strict=True)
    ]
    made = [
        helper.make_tensor_value_info(f"output{index}", element, None)
        for index, element in enumerate(outputs)
    ]
    node = helper.make_node(
        name, names, [value.name for value in made], domain="enginewright", **attributes
    )
    graph = helper.make_graph([node], "graph", given, made)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("enginewright", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library))
    loaded = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return loaded.run(None, dict(zip(names, inputs, strict=True)))


NAMES = ["rms_norm", "add_rms_norm", "swiglu", "rotary", "mean_pool"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_onnxruntime_computes_what_float64_does(for_onnxruntime, name, dtype):
    inputs, attributes, expected = cases(dtype)[name]
    element = TensorProto.FLOAT if name == "mean_pool" else TYPES[dtype][1]
    results = session(for_onnxruntime, name, inputs, attributes, [element] * len(expected))
    assert_close(results, expected, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_torch_computes_what_float64_does(operators, name, dtype):
    inputs, attributes, expected = cases(dtype)[name]
    given = [torch.from_numpy(array) for array in inputs]
    if name == "rotary":  # torch's has the heads after the sequence
        given[0] = given[0].transpose(1, 2).contiguous()
        results = [operators.rotary(*given, False).transpose(1, 2)]
    else:
        made = getattr(operators, name)(*given, *attributes.values())
        results = made if isinstance(made, tuple) else [made]
    assert_close([result.numpy() for result in results], expected, dtype)


def test_both_draw_the_same_tokens_and_the_largest_without_temperature(operators, for_onnxruntime):
    logits = values(16, 3000, dtype="float32", seed=7) * 3
    seed, step = np.array([11]), np.array([2])
    bounds = {"temperature": 0.8, "top_k": 50, "top_p": 0.9}
    (theirs,) = session(
        for_onnxruntime, "sample", (logits, seed, step), bounds, [TensorProto.INT64]
    )
    tokens = operators.sample(torch.from_numpy(logits), 0.8, 50, 0.9, 11, 2).numpy()
    assert tokens.tolist() == theirs.tolist()
    assert (logits[range(16), tokens] >= np.sort(logits)[:, -50]).all()
    greedy = operators.sample(torch.from_numpy(logits), 0.0, 0, 1.0, 11, 2)
    assert greedy.tolist() == logits.argmax(-1).tolist()


def test_what_does_not_fit_is_refused_in_words(operators, for_onnxruntime):
    x, half = torch.zeros(2, 8), torch.zeros(2, 4)
    with pytest.raises(RuntimeError, match="swiglu wants tensors of one shape"):
        operators.swiglu(x, half)
    with pytest.raises(RuntimeError, match="rms_norm wants contiguous tensors"):
        operators.rms_norm(x.t(), torch.zeros(2), EPSILON)
    with pytest.raises(RuntimeError, match="wants float16, bfloat16 or float32"):
        operators.swiglu(x.double(), x.double())
    with pytest.raises(Exception, match="swiglu: two tensors of one shape"):
        session(for_onnxruntime, "swiglu", (x.numpy(), half.numpy()), {}, [TensorProto.FLOAT])


def test_bytes_are_equal_from_another_path(for_onnxruntime, tmp_path):
    again = build(tmp_path / "another" / "deeper", "onnxruntime")
    assert again.read_bytes() == for_onnxruntime.read_bytes()
    assert str(tmp_path).encode() not in again.read_bytes()


def test_the_libraries_need_no_cuda_library(for_onnxruntime):
    listed = subprocess.check_output(["readelf", "-d", for_onnxruntime], text=True)
    needed = [line.split("[")[1].rstrip("]") for line in listed.splitlines() if "NEEDED" in line]
    assert "libstdc++.so.6" in needed
    assert not [name for name in needed if "cuda" in name]

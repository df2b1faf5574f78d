"""The README of an engine package: what it is, where it runs, how to load it."""

from __future__ import annotations

from enginewright.engines.manifest import PLAN_NAME, Manifest
from enginewright.engines.tensor import EngineTensor

_PYTHON = """\
import pathlib
import tensorrt_rtx as trt
import torch

logger = trt.Logger(trt.Logger.WARNING)
runtime = trt.Runtime(logger)
engine = runtime.deserialize_cuda_engine(pathlib.Path("{plan}").read_bytes())
if engine is None:
    raise SystemExit("the engine was refused: see the messages above")
context = engine.create_execution_context()
stream = torch.cuda.Stream()

buffers = {{
{inputs}
}}
for name, buffer in buffers.items():
    context.set_input_shape(name, tuple(buffer.shape))
for name, dtype in {{{outputs}}}.items():
    shape = tuple(context.get_tensor_shape(name))
    buffers[name] = torch.empty(shape, dtype=dtype, device="cuda")
for name, buffer in buffers.items():
    context.set_tensor_address(name, buffer.data_ptr())
torch.cuda.synchronize()
assert context.execute_async_v3(stream.cuda_stream)
stream.synchronize()
"""

_CPP = """\
// g++ -std=c++17 load.cpp -I$TENSORRT_RTX/include -L$TENSORRT_RTX/lib -ltensorrt_rtx -lcudart
#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <vector>

struct Logger : nvinfer1::ILogger {{
    void log(Severity severity, char const* message) noexcept override {{
        if (severity <= Severity::kWARNING) std::cerr << message << '\\n';
    }}
}};

int main() {{
    Logger logger;
    std::ifstream file("{plan}", std::ios::binary);
    std::vector<char> plan(std::istreambuf_iterator<char>(file), {{}});
    std::unique_ptr<nvinfer1::IRuntime> runtime{{nvinfer1::createInferRuntime(logger)}};
    std::unique_ptr<nvinfer1::ICudaEngine> engine{{
        runtime->deserializeCudaEngine(plan.data(), plan.size())}};
    if (!engine) return 1;
    std::unique_ptr<nvinfer1::IExecutionContext> context{{engine->createExecutionContext()}};
    // For each input: context->setInputShape(name, dims). For each input and output:
    // cudaMalloc a buffer and context->setTensorAddress(name, buffer). Then:
    return context->enqueueV3(/*stream*/ nullptr) ? 0 : 1;
}}
"""


def render(manifest: Manifest) -> str:
    """Markdown; the same manifest gives the same text."""
    capabilities = ", ".join(manifest.compute_capabilities) or "that of the build host"
    sections = [
        f"# {manifest.name}\n\n"
        f"An inference engine for {manifest.product} {manifest.version} (all four fields must be "
        f"those of the runtime), task `{manifest.task}`.\n\n"
        f"- GPUs: compute capability {capabilities}; driver {manifest.minimum_driver} or newer "
        f"(CUDA {manifest.cuda}).\n"
        f"- `{PLAN_NAME}`: {manifest.plan.size} bytes, sha256 `{manifest.plan.sha256}`.\n"
        f"- `engine.json`: inputs of the build with their hashes, tensors, profiles, options.\n"
        f"- Reproducibility: {manifest.reproducibility}.\n",
        "## Tensors\n\n| name | mode | dtype | shape |\n|---|---|---|---|\n"
        + "".join(_row(tensor) for tensor in manifest.tensors),
        _profiles(manifest),
        "## Load it\n\nNot run by the project on an RTX GPU: the build needs none, and none was at "
        "hand. The names below exist in the Python bindings that built the plan.\n\n"
        f"```python\n{_python(manifest)}```\n\n```cpp\n{_CPP.format(plan=PLAN_NAME)}```\n",
    ]
    return "\n".join(section for section in sections if section)


def _row(tensor: EngineTensor) -> str:
    shape = ", ".join(str(dim) for dim in tensor.shape)
    return f"| `{tensor.name}` | {tensor.mode} | {tensor.dtype} | [{shape}] |\n"


def _profiles(manifest: Manifest) -> str:
    rows = [
        f"| {number} | {axis} | {low} | {best} | {high} |\n"
        for number, profile in enumerate(manifest.profiles)
        for axis, (low, best, high) in profile.axes.items()
    ]
    head = "## Profiles\n\n| profile | axis | min | opt | max |\n|---|---|---|---|---|\n"
    return head + "".join(rows) if rows else ""


def _python(manifest: Manifest) -> str:
    inputs, outputs = [], []
    shapes = manifest.profiles[0].shapes if manifest.profiles else {}
    for tensor in manifest.tensors:
        dtype = f"torch.{tensor.dtype}"
        if tensor.mode == "output":
            outputs.append(f'"{tensor.name}": {dtype}')
            continue
        shape = list(shapes[tensor.name][1]) if tensor.name in shapes else list(tensor.shape)
        inputs.append(f'    "{tensor.name}": torch.zeros({shape}, dtype={dtype}, device="cuda"),')
    return _PYTHON.format(plan=PLAN_NAME, inputs="\n".join(inputs), outputs=", ".join(outputs))

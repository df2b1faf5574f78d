"""Changes of CUDA code run the compilation and the packaging that they touch. A library of
operators is part of the engine that loads it: that engine is built anew, and no other.

Two kernels, of which an engine ships one, and a library that another engine loads. The number in
the sources is drawn for each run of this file, so that no cache knows a compilation of them.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from workspace import Run, Workspace

HEADER = """\
#pragma once
__host__ __device__ inline float scaled(float value) {{ return value * {factor}f; }}
"""
SCALE = """\
#include "scale.cuh"
extern "C" __global__ void scale(float* values, long long count) {
    const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < count) values[i] = scaled(values[i]);
}
"""
SHIFT = """\
extern "C" __global__ void shift(float* values, long long count) {{
    const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < count) values[i] = values[i] + {factor}f;
}}
"""
# A library that has no operator: what an engine embeds is its bytes.
OPERATORS = """\
__device__ float factor = {factor}f;
extern "C" __attribute__((visibility("default"))) void* RegisterCustomOps(void*, const void*) {{
    return nullptr;
}}
"""
OPERATORS_BUILD = """\
operator_library(
    name="ops",
    sources=["ops.cu"],
    interface="onnxruntime",
    compute_capabilities=["8.9"],
    flags=["-O3"],
)
"""
ENGINE_BUILD = """
onnxruntime_engine(name="embeds", model="models/other:fp16", operators="csrc/ops")
"""
BUILD = """\
cuda_headers(name="headers")
cuda_kernels(name="{name}", compute_capabilities=["8.9"], flags=["-O3"])
"""

COMPILE_SCALE = "compile_kernels csrc/scale:scale"
COMPILE_SHIFT = "compile_kernels csrc/shift:shift"
OPERATOR_RUNS = [
    "build_onnxruntime_engine engines:embeds",
    "compile_operators csrc/ops:ops",
    "write_manifest engines:embeds",
    "write_provenance csrc/ops:ops",
    "write_provenance engines:embeds",
]
MANIFEST = "write_manifest engines:other"
SCALE_RUNS = [
    COMPILE_SCALE,
    MANIFEST,
    "write_provenance csrc/scale:scale",
    "write_provenance engines:other",
]
SHIFT_RUNS = [COMPILE_SHIFT, "write_provenance csrc/shift:shift"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    created = Workspace.create(tmp_path_factory.mktemp("kernels") / "repository")
    factor = random.SystemRandom().uniform(1, 2)
    for name, files in (
        ("scale", {"scale.cu": SCALE, "scale.cuh": HEADER.format(factor=factor)}),
        ("shift", {"shift.cu": SHIFT.format(factor=factor)}),
    ):
        folder = created.root / "csrc" / name
        folder.mkdir(parents=True)
        (folder / "BUILD").write_text(BUILD.format(name=name))
        for file, text in files.items():
            (folder / file).write_text(text)
    folder = created.root / "csrc" / "ops"
    folder.mkdir()
    (folder / "BUILD").write_text(OPERATORS_BUILD)
    (folder / "ops.cu").write_text(OPERATORS.format(factor=factor))
    engines = created.root / "engines" / "BUILD"
    text = engines.read_text()
    before = '    name="other",\n'
    assert before in text
    engines.write_text(
        text.replace(before, f'{before}    kernels=["csrc/scale"],\n') + ENGINE_BUILD
    )
    yield created
    created.stop()


def build(workspace: Workspace) -> Run:
    return workspace.run("package", "engines:other", "engines:embeds", "csrc::")


@pytest.fixture(scope="module")
def first(workspace: Workspace) -> Run:
    run = build(workspace)
    assert run.exit_code == 0, run.output
    assert run.ran == run.steps
    assert {COMPILE_SCALE, COMPILE_SHIFT, MANIFEST, "build_engine engines:other"} <= {*run.steps}
    assert "engines/other/kernels/scale/scale.sm_89.cubin" in run.packages
    return run


@dataclass(frozen=True)
class Mutation:
    name: str
    path: str
    old: str
    new: str
    runs: list[str]


MUTATIONS = [
    Mutation(
        "a kernel's source",
        "csrc/scale/scale.cu",
        "= scaled(values[i])",
        "= scaled(values[i]) + 1.0f",
        SCALE_RUNS,
    ),
    Mutation(
        "its header",
        "csrc/scale/scale.cuh",
        "return value *",
        "return 2.0f * value *",
        SCALE_RUNS,
    ),
    Mutation(
        "an unrelated kernel",
        "csrc/shift/shift.cu",
        "values[i] + ",
        "values[i] - ",
        SHIFT_RUNS,
    ),
    Mutation(
        "an operator's source",
        "csrc/ops/ops.cu",
        "float factor =",
        "float factor = 1.0f +",
        OPERATOR_RUNS,
    ),
    Mutation("a flag of the operators", "csrc/ops/BUILD", '"-O3"', '"-O1"', OPERATOR_RUNS),
    Mutation("a flag", "csrc/scale/BUILD", '"-O3"', '"-O1"', SCALE_RUNS),
    Mutation(
        "an architecture added",
        "csrc/scale/BUILD",
        '["8.9"]',
        '["8.9", "9.0"]',
        SCALE_RUNS,
    ),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_change_of_cuda_code_runs_exactly_its_steps(
    mutation: Mutation, workspace: Workspace, first: Run
) -> None:
    with workspace.changed(mutation.path):
        path = workspace.root / mutation.path
        text = path.read_text()
        assert mutation.old in text
        path.write_text(text.replace(mutation.old, mutation.new, 1))
        changed = build(workspace)
    undone = build(workspace)
    assert changed.exit_code == 0, changed.output
    assert changed.ran == sorted(mutation.runs)
    assert undone.ran == []
    assert undone.packages == first.packages

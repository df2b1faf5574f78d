"""A file that a step put out, cut short behind it, is found: when it is made, and in a cache.

The workspace's own copy of the library is changed to make such steps.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from workspace import Workspace

MAIN = "    main(run)\n"
BUILD = """
onnxruntime_engine(name="portable", model="models/tiny:fp32")
"""
MODEL = """
onnx_model(
    name="fp32",
    checkpoint=":checkpoint",
    task="text-generation-with-past",
    exporter="direct",
    dtype="float32",
)
"""
KERNEL = 'extern "C" __global__ void scale(float* x) {{ x[threadIdx.x] *= {factor!r}f; }}\n'
KERNELS = 'cuda_kernels(name="scale", compute_capabilities=["8.9"])\n'


@dataclass(frozen=True)
class Damage:
    step: str
    """As the record calls it."""
    module: str
    """Of the step, from `src/enginewright`."""
    file: str
    """Which of its outputs is cut."""
    target: str


DAMAGES = [
    Damage(
        "export_direct models/tiny:cached",
        "actions/export_direct.py",
        "model/model.onnx",
        "models/tiny:cached",
    ),
    Damage(
        "convert_weights models/tiny:cached",
        "actions/convert_weights.py",
        "weights/model.safetensors",
        "models/tiny:cached",
    ),
    Damage(
        "build_onnxruntime_engine engines:portable",
        "products/onnxruntime/build.py",
        "model.onnx.data",
        "engines:portable",
    ),
    Damage(
        "compile_kernels csrc/scale:scale",
        "actions/compile_kernels.py",
        "scale.sm_89.cubin",
        "csrc/scale",
    ),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    created = Workspace.create(tmp_path_factory.mktemp("damage") / "repository")
    for path, text in (("engines/BUILD", BUILD), ("models/tiny/BUILD", MODEL)):
        with (created.root / path).open("a") as stream:
            stream.write(text)
    folder = created.root / "csrc" / "scale"
    folder.mkdir(parents=True)
    (folder / "BUILD").write_text(KERNELS)
    factor = random.SystemRandom().uniform(1, 2)
    (folder / "scale.cu").write_text(KERNEL.format(factor=factor))
    yield created
    created.stop()


def cut_while(fault: Path, file: str) -> str:
    """A program's end that cuts a file while `fault` is there; its digest is told by then."""
    path = "outputs/" + file.replace("/", "%2F")
    condition = f'os.path.exists("{fault}")'
    return (
        f"    import atexit, os\n"
        f'    atexit.register(lambda: {condition} and os.truncate("{path}", 7))\n'
        f"{MAIN}"
    )


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.step)
def test_a_file_that_is_cut_behind_its_step(
    damage: Damage, workspace: Workspace, tmp_path: Path
) -> None:
    fault = tmp_path / "fault"
    fault.touch()
    path = f"src/enginewright/{damage.module}"
    with workspace.changed(path):
        module = workspace.root / path
        text = module.read_text()
        assert text.count(MAIN) == 1
        module.write_text(text.replace(MAIN, cut_while(fault, damage.file)))
        refused = workspace.run("package", damage.target)
        fault.unlink()
        mended = workspace.run("package", damage.target)
    action, address = damage.step.split()
    assert refused.exit_code == 1
    assert f"{address}: step `{action}` ended well, and its result is damaged" in refused.output
    assert f"{damage.file} is not what the step wrote" in refused.output
    assert "actual    7 bytes, sha256 " in refused.output
    assert "Wrote dist/" not in refused.output
    # The cache keeps the damaged one under the right key.
    assert mended.exit_code == 0, mended.output
    assert f"the result of step `{action}` is damaged: {damage.file} is not" in mended.output
    assert damage.step in mended.ran
    assert "Wrote dist/" in mended.output

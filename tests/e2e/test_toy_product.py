"""A third product is a folder on each side and one line in pants.toml: no other file knows it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from workspace import Workspace

RULES = {
    "BUILD": 'python_sources(resolve="rules")\n',
    "targets.py": """
from pants.engine.target import Target

from pants_enginewright.build_files.fields import FlagField
from pants_enginewright.engines.targets import ENGINE_FIELDS, ModelField


class ToyFlagField(FlagField):
    alias = "toy"
    default = True
    help = "Makes a target one of the toy."


class ToyEngineTarget(Target):
    alias = "toy_engine"
    core_fields = (*ENGINE_FIELDS, ModelField, ToyFlagField)
    help = "An engine of a product that a test made up."
""",
    "build.py": """
from dataclasses import dataclass

from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.build_files.kind import Steps
from pants_enginewright.engines import engine, model_build
from pants_enginewright.engines.model_build import BuildFromModel, ModelBuild
from pants_enginewright.engines.product import BuildEngine, BuiltEngine
from pants_enginewright.engines.targets import ModelField
from pants_enginewright.models.model_source import ModelSource
from pants_enginewright.models.onnx_model import OnnxModelRequest
from pants_enginewright.steps.action import ActionRequest
from pants_enginewright.steps.files import ComposeFiles, Files
from pants_toy.targets import ToyFlagField


@dataclass(frozen=True)
class BuildToyEngine(BuildEngine):
    required_fields = (ModelField, ToyFlagField)
    product = "toy"
    runs_in = "run"

    model: ModelField

    @property
    def steps(self):
        return model_build.STEPS + Steps.of_product("toy", environments=("run",))


@rule
async def build_toy_engine(fields: BuildToyEngine) -> BuiltEngine:
    step = ActionRequest.create(
        "build_toy",
        module="enginewright.products.toy.build",
        address=fields.address,
        environment="run",
        parameters={
            "provider": "cpu",
            "optimization_level": "basic",
            "quantized_matmul": "float32",
        },
        fresh=fields.fresh,
    )
    named = OnnxModelRequest.by_field(fields.model, fields.fresh)
    built = await Get(ModelBuild, BuildFromModel(fields.address, named, step))
    names = ("model.onnx", "model.onnx.data")
    made = await Get(Files, ComposeFiles, ComposeFiles.named(built.result.files.entries, *names))
    return BuiltEngine(
        source=ModelSource.of_model(built.model),
        build=built.build,
        result=built.result,
        artifacts=made,
        steps=built.steps,
        estimate=built.estimate,
    )


def rules():
    return (
        *collect_rules(),
        *BuildToyEngine.rules(),
        *engine.rules(),
        *model_build.rules(),
    )
""",
    "register.py": """
from pants_toy import build
from pants_toy.targets import ToyEngineTarget


def target_types():
    return [ToyEngineTarget]


def rules():
    return build.rules()
""",
}
LIBRARY = {
    "BUILD": "python_sources()\n",
    "__init__.py": '"""A product that a test made up."""\n',
    "build.py": """
from enginewright.products.onnxruntime.build import run
from enginewright.step import main

if __name__ == "__main__":
    main(run)
""",
    "product.py": "from enginewright.products.onnxruntime.product import PRODUCT as PRODUCT\n",
    "backend.py": (
        "from enginewright.products.onnxruntime.backend import open_backend as open_backend\n"
    ),
    "describe.py": """
from enginewright.products.onnxruntime.describe import run
from enginewright.step import main

if __name__ == "__main__":
    main(run)
""",
}
BUILD = """
toy_engine(name="toy", model="models/tiny:fp32")
engine_test(
    name="toy_test",
    engine=":toy",
    reference="models/tiny:checkpoint",
    dataset="models/tiny:heldout",
    min_worst_cosine_similarity=0.999,
    max_length=64,
    reproducible=True,
)
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


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    created = Workspace.create(tmp_path_factory.mktemp("toy") / "repository")
    write(created.root / "rules" / "pants_toy", RULES)
    write(created.root / "src" / "enginewright" / "products" / "toy", LIBRARY)
    write(created.root / "engines" / "toy", {"BUILD": BUILD})
    with (created.root / "models" / "tiny" / "BUILD").open("a") as stream:
        stream.write(MODEL)
    settings = created.root / "pants.toml"
    line = '  "pants_enginewright",\n'
    text = settings.read_text()
    assert text.count(line) == 1
    settings.write_text(text.replace(line, f'{line}  "pants_toy",\n'))
    yield created
    created.stop()


def test_it_is_packaged_and_tested(workspace: Workspace) -> None:
    run = workspace.run("package", "test", "engines/toy::")
    assert run.exit_code == 0, run.output
    package = workspace.root / "dist" / "engines.toy" / "toy"
    assert sorted(path.name for path in package.iterdir()) == [
        "README.md",
        "bom.cdx.json",
        "engine.json",
        "generation_config.json",
        "model.onnx",
        "model.onnx.data",
        "provenance.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert "build_toy engines/toy:toy" in run.ran
    assert "measure_accuracy engines/toy:toy_test" in run.ran
    assert "compare_builds engines/toy:toy" in run.ran
    assert workspace.run("package", "test", "engines/toy::").ran == []


def test_it_runs(workspace: Workspace) -> None:
    done = workspace.pants("run", "engines/toy", "--", "--prompt", "A", "--max-tokens", "3")
    assert done.returncode == 0, done.stdout


def test_help_knows_it(workspace: Workspace) -> None:
    done = workspace.pants("help", "toy_engine")
    assert "An engine of a product that a test made up." in done.stdout


@pytest.mark.parametrize(
    "path",
    [
        "src/enginewright/products/toy/build.py",
        "src/enginewright/products/toy/describe.py",
        "rules/pants_toy/build.py",
    ],
)
def test_an_edit_of_its_own_files_selects_its_engine_alone(workspace: Workspace, path: str) -> None:
    done = workspace.pants("--level=error", "dependents", "--transitive", path)
    listed = [line for line in done.stdout.splitlines() if line.startswith("engines")]
    assert listed == ["engines/toy:toy", "engines/toy:toy_test"]

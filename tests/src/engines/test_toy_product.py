"""A product is a folder and a line: one that no core file knows is built, described and served."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from step_process import write_request

from enginewright.actions import check_engine
from enginewright.cli import main
from enginewright.engines import registry
from enginewright.engines.opening import open_backend
from enginewright.engines.package import EnginePackage, read_package
from enginewright.engines.room import product_of
from enginewright.errors import InputError
from enginewright.step import run_step

ROOM = "adder_product"
PRODUCT = """
from collections.abc import Sequence
from dataclasses import dataclass

from enginewright.engines.manifest import Manifest
from enginewright.engines.product import Product
from enginewright.errors import Problem


@dataclass(frozen=True)
class AdderTable:
    amount: int

    def problems(self, manifest: Manifest) -> Sequence[Problem]:
        if "rank0.txt" in manifest.built:
            return ()
        return (Problem("no rank was built", "built", "rank0.txt"),)

    def device_needs(self) -> None:
        pass


PRODUCT = Product(
    name="adder",
    title="Adder",
    wheels=("adder",),
    library_prefixes=("libadder",),
    loads_where="same release",
    device="none",
    own=AdderTable,
    backend="adder_product.backend:open_backend",
)
"""
BUILD = """
from enginewright.hashing import FileDigest


def run(request, outputs):
    amount = request.parameters["amount"]
    for rank in range(2):
        (outputs / f"rank{rank}.txt").write_text(f"{amount}")
    files = {path.name: vars(FileDigest.of(path)) for path in sorted(outputs.iterdir())}
    return {
        "product": {"name": "adder", "version": "2.1"},
        "files": files,
        "tensors": [
            {"name": "x", "mode": "input", "dtype": "int64", "shape": ["batch"]},
            {"name": "y", "mode": "output", "dtype": "int64", "shape": ["batch"]},
        ],
        "reproducibility": "bit-identical",
        "own": {"amount": amount},
    }
"""
DESCRIBE = """
from adder_product.product import PRODUCT, AdderTable
from enginewright.document import decode
from enginewright.engines import describe
from enginewright.engines.describe import OwnPart
from enginewright.engines.limits import Limits
from enginewright.engines.readme import ReadmePart


def add_own(build, wanted):
    table = decode(AdderTable, build.own, "own")
    part = ReadmePart((f"It adds {table.amount}.",), ("## Run it\\n\\nCount.\\n",))
    return OwnPart(table, Limits(batch=4), part)


def run(request, outputs):
    return describe.describe(PRODUCT, add_own, request, outputs)
"""
BACKEND = """
import numpy as np


class Adder:
    def __init__(self, amount):
        self.amount = amount

    def empty(self, name, batch):
        return np.zeros(batch, np.int64)

    def run(self, inputs, outputs, held=()):
        values = {"y": inputs["x"] + self.amount}
        return {name: values[name] for name in outputs}, {name: values[name] for name in held}

    def device_bytes(self):
        return None


def open_backend(package, threads):
    return Adder(int((package.folder / package.manifest.built[0]).read_text()))
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "rooms" / ROOM
    folder.mkdir(parents=True)
    files = {"product": PRODUCT, "build": BUILD, "describe": DESCRIBE, "backend": BACKEND}
    for name, text in {"__init__": "", **files}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(registry, "ROOMS", (*registry.ROOMS, ROOM))
    for name in [name for name in sys.modules if name.partition(".")[0] == ROOM]:
        monkeypatch.delitem(sys.modules, name)
    return ROOM


def run(folder: Path, name: str, inputs: dict[str, list[str]], parameters: object) -> int:
    step = __import__(f"{ROOM}.{name}", fromlist=["run"]).run
    return run_step(step, write_request(folder, name, inputs, parameters), folder / "package")


@pytest.fixture
def package(room: str, tmp_path: Path) -> Path:
    """What the steps of the product make, in one folder."""
    assert room == ROOM
    assert run(tmp_path, "build", {}, {"amount": 3}) == 0
    (tmp_path / "package" / "result.json").rename(tmp_path / "build.json")
    parameters = {
        "name": "three",
        "task": "text-generation",
        "source": {"kind": "checkpoint", "address": "models/adder"},
        "files": {},
        "inputs": [],
    }
    assert run(tmp_path, "describe", {"build": ["build.json"]}, parameters) == 0
    (tmp_path / "package" / "result.json").unlink()
    return tmp_path / "package"


def read(folder: Path) -> EnginePackage:
    return read_package(folder, registry.find_own)


def test_it_is_described(package: Path) -> None:
    manifest = read(package).manifest
    assert (manifest.product.name, manifest.source.kind) == ("adder", "checkpoint")
    assert manifest.built == ("rank0.txt", "rank1.txt")
    assert manifest.own == {"amount": 3}
    assert manifest.limits.batch == 4
    readme = (package / "README.md").read_text()
    assert "An inference engine for Adder 2.1 (the runtime must be of the same release" in readme
    assert "- It adds 3.\n" in readme
    assert readme.endswith("## Run it\n\nCount.\n")


def test_it_runs(package: Path) -> None:
    opened = open_backend(read(package))
    outputs, _ = opened.run({"x": np.int64([1, 2])}, ["y"])
    assert outputs["y"].tolist() == [4, 5]


def test_the_step_checks_it(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def check() -> int:
        files = [str(path.relative_to(package.parent)) for path in sorted(package.iterdir())]
        request = write_request(package.parent, "check", {"package": files}, {"room": ROOM})
        return run_step(check_engine.run, request, package.parent / "checked")

    assert check() == 0
    (package / "rank1.txt").write_text("4")
    assert check() == 1
    assert "where:    rank1.txt" in capsys.readouterr().err


def test_the_doctor_knows_that_it_needs_no_gpu(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--engine", str(package)]) == 0
    assert "This engine runs without a GPU" in capsys.readouterr().out
    document = json.loads((package / "engine.json").read_text())
    (package / "engine.json").write_text(json.dumps({**document, "own": {"amount": "three"}}))
    assert main(["doctor", "--engine", str(package)]) == 1
    assert "own, amount" in capsys.readouterr().out


def test_its_own_rules_count(package: Path) -> None:
    document = json.loads((package / "engine.json").read_text())
    (package / "engine.json").write_text(json.dumps({**document, "built": ["rank1.txt"]}))
    with pytest.raises(InputError, match="no rank was built"):
        read(package)


def test_without_its_line_it_is_unknown(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ROOMS", registry.ROOMS[:-1])
    with pytest.raises(InputError, match="unknown product"):
        read(package)


def test_every_room_of_the_registry_has_a_product_and_what_it_names() -> None:
    rooms = {room: product_of(room) for room in registry.ROOMS}
    assert {room.rpartition(".")[2]: product.name for room, product in rooms.items()} == {
        "aotinductor": "aotinductor",
        "onnxruntime": "onnxruntime",
        "tensorrt": "tensorrt",
        "tensorrt_rtx": "tensorrt-rtx",
    }
    for product in rooms.values():
        for entry in filter(None, (product.backend, product.findings)):
            module, _, attribute = entry.partition(":")
            path = Path(registry.__file__).parents[2] / f"{module.replace('.', '/')}.py"
            assert f"def {attribute}(" in path.read_text()


def test_a_product_that_nothing_here_runs_says_so(package: Path) -> None:
    document = json.loads((package / "engine.json").read_text())
    own = {
        "profiles": [], "compute_capabilities": ["8.9"], "weight_streaming": False,
        "libraries": {}, "cuda": "13.0", "minimum_driver": "580.65.06",
    }  # fmt: skip
    (package / "engine.plan").write_bytes(b"plan")
    document |= {
        "product": {"name": "tensorrt", "version": "10.13.3.9"},
        "tensors": [],
        "built": ["engine.plan"],
        "files": {"engine.plan": {"sha256": "0" * 64, "size": 4}},
        "own": own,
    }
    (package / "engine.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        open_backend(read(package))
    [problem] = caught.value.problems
    assert problem.what == "nothing here runs engines of TensorRT"
    assert problem.expected == "one of adder, aotinductor, onnxruntime, tensorrt-rtx"

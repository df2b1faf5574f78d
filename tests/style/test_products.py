"""No core file names a product: their rooms do, and those in which the names are data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from enginewright.engines.registry import products

TREE = Path(__file__).parents[2]
LIBRARY = TREE / "src" / "enginewright"
ROOMS = sorted(path.parent.name for path in (LIBRARY / "products").glob("*/build.py"))
OF_OTHERS = r"(?![-_ ]llm)"
"""TensorRT-LLM is no product of this library, which reads its folders and sizes its servers."""
ALLOWED = {
    "the registry": ["engines/registry.py"],
    "what the probe of a host looks for": [
        "host/libraries.py",
        "host/probe.py",
        "host/report.py",
        "host/tensorrt.py",
    ],
    "names of the files with texts of logs": ["doctor/messages.py"],
    "the runtime that stands for an engine which this host cannot run": [
        "actions/measure_accuracy.py",
        "validation/candidate.py",
        "validation/graph_backend.py",
    ],
}


def names() -> re.Pattern[str]:
    """Rooms, names and titles of all products."""
    known = {*ROOMS, *products()}
    known |= {product.title for product in products().values()}
    alone = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    return re.compile(rf"(?:{alone}){OF_OTHERS}", re.IGNORECASE)


def words_of(path: Path) -> Iterator[str]:
    """Texts that are no docstrings, and modules that are imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = {
        id(item.value)
        for item in ast.walk(tree)
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
    }
    for item in ast.walk(tree):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            if id(item) not in described:
                yield item.value
        elif isinstance(item, ast.ImportFrom):
            yield item.module or ""
        elif isinstance(item, ast.Import):
            yield from (alias.name for alias in item.names)


def naming(paths: list[Path]) -> list[str]:
    pattern = names()
    return [
        path.relative_to(LIBRARY).as_posix()
        for path in paths
        if any(pattern.search(word) for word in words_of(path))
    ]


def test_no_core_file_names_a_product() -> None:
    core = [path for path in LIBRARY.rglob("*.py") if LIBRARY / "products" not in path.parents]
    assert len(core) > 200
    allowed = sorted(name for group in ALLOWED.values() for name in group)
    # Equal and no subset: who no longer names one loses the right to.
    assert sorted(naming(core)) == allowed


def test_no_room_names_another_but_the_one_that_it_builds_with() -> None:
    shared = re.compile(r"enginewright\.products\.(\w+)")
    for room in ROOMS:
        words = [
            word for path in (LIBRARY / "products" / room).glob("*.py") for word in words_of(path)
        ]
        others = {found[1] for word in words if (found := shared.match(word))} - {room}
        assert others <= ({"tensorrt"} if room.startswith("tensorrt") else set()), room


def test_the_search_finds_names() -> None:
    assert {"onnxruntime", "tensorrt_rtx"} <= {*ROOMS}
    assert naming([LIBRARY / "products" / "onnxruntime" / "product.py"]) != []
    pattern = names()
    assert pattern.search("build TensorRT for RTX engines")
    assert pattern.search("import tensorrt_rtx")
    assert not pattern.search("--tensorrt-llm")
    assert not pattern.search("TensorRT-LLM 1.0")

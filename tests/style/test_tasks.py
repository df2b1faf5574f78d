"""No file names a task but the tasks' rooms and the plugin's table of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TREE = Path(__file__).parents[2]
LIBRARY, PLUGIN = TREE / "src" / "enginewright", TREE / "rules" / "pants_enginewright"
TABLE = PLUGIN / "models" / "tasks.py"
ROOMS = ("classification", "feature_extraction", "raw_tensors", "text_generation")
NAMES = re.compile("|".join([*ROOMS, *(room.replace("_", "-") for room in ROOMS)]))


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


def names_a_task(path: Path) -> bool:
    return any(NAMES.search(word) for word in words_of(path))


def test_no_core_file_names_a_task() -> None:
    core = [path for path in LIBRARY.rglob("*.py") if LIBRARY / "tasks" not in path.parents]
    core += [path for path in PLUGIN.rglob("*.py") if path != TABLE]
    assert len(core) > 200
    assert [path.relative_to(TREE).as_posix() for path in core if names_a_task(path)] == []


def test_the_rooms_are_those_of_the_tree_and_the_search_finds_them() -> None:
    folders = {path.parent.name for path in (LIBRARY / "tasks").glob("*/runner.py")}
    assert folders == {*ROOMS}
    assert names_a_task(TABLE)
    assert names_a_task(LIBRARY / "tasks" / "registry.py")

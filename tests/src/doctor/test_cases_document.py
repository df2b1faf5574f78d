"""docs/cases.md names tests that exist, and every test that is named after a row."""

from __future__ import annotations

import re
from pathlib import Path

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_row_(\d+|[deps]\d+)_\w+)`")
_DEFINITION = re.compile(r"^def (test_row_(\d+|[deps]\d+)_\w+)\(", re.MULTILINE)


def repository() -> Path:
    """The folder that holds docs/cases.md."""
    parents = Path(__file__).resolve().parents
    return next(folder for folder in parents if (folder / "docs" / "cases.md").is_file())


def table_rows(root: Path) -> dict[str, str]:
    """Row of a table by its number, such as `7` of the first list or `e14` of the second."""
    text = (root / "docs" / "cases.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r"\| (\d+|[DEPS]\d+) \|", line)]
    return {line.split("|")[1].strip().lower(): line for line in lines}


def test_every_test_named_in_the_table_exists_and_has_the_rows_number():
    root = repository()
    for number, line in table_rows(root).items():
        for path, name, row in _TEST.findall(line):
            assert row.lstrip("0") == number
            assert f"def {name}(" in (root / path).read_text(encoding="utf-8"), (path, name)


def test_every_test_of_a_row_is_named_in_the_table():
    root = repository()
    rows = table_rows(root)
    for path in sorted((root / "tests").rglob("test_*.py")):
        for name, row in _DEFINITION.findall(path.read_text(encoding="utf-8")):
            place = f"`{path.relative_to(root).as_posix()}::{name}`"
            assert place in rows[row.lstrip("0")], f"name {place} in row {row} of docs/cases.md"


def test_at_least_35_rows_are_tested_and_the_others_say_why_not():
    rows = table_rows(repository())
    tested = [number for number, line in rows.items() if _TEST.search(line)]
    assert len(tested) >= 35
    for number in set(rows) - set(tested):
        reason = rows[number].split("|")[4]
        assert len(reason.strip()) > 40, f"row {number} has neither a test nor a reason"

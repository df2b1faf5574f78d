from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from enginewright.engines.package_check import check, match
from enginewright.hashing import FileDigest


def test_the_longest_package_path_wins() -> None:
    listed = {name: FileDigest("", 0) for name in ("config.json", "draft/config.json")}
    paths = (Path("in/package/draft/config.json"), Path("in/package/config.json"))
    assert match(listed, paths) == {"draft/config.json": paths[0], "config.json": paths[1]}


def test_each_absent_or_changed_file_is_one_problem(tmp_path: Path) -> None:
    for name in ("engine.plan", "tokenizer.json", "kernel.cubin"):
        (tmp_path / name).write_text(name)
    files = {path.name: FileDigest.of(path) for path in tmp_path.iterdir()}
    manifest: Any = SimpleNamespace(files={**files, "extra/vocab.txt": FileDigest("e" * 64, 1)})
    (tmp_path / "tokenizer.json").write_text("other")
    (tmp_path / "engine.plan").write_text("cut")
    package = (tmp_path / "tokenizer.json", tmp_path / "kernel.cubin")
    problems = check(manifest, tmp_path / "engine.plan", package)
    assert [(problem.where, problem.what) for problem in problems] == [
        ("engine.plan", "a file of the package is not the one in the manifest"),
        ("extra/vocab.txt", "a file of the package is missing"),
        ("tokenizer.json", "a file of the package is not the one in the manifest"),
    ]
    assert problems[0].actual.endswith("3 bytes")


def test_a_whole_package_has_no_problems(tmp_path: Path) -> None:
    (tmp_path / "engine.plan").write_text("plan")
    plan = tmp_path / "engine.plan"
    manifest: Any = SimpleNamespace(files={"engine.plan": FileDigest.of(plan)})
    assert check(manifest, plan, ()) == []

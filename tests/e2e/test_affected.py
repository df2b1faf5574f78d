"""`--changed-since` with `--changed-dependents=transitive` selects exactly what a change can touch.

Each row of `CHANGES` edits one file of a git repository with three engines and one engine test.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from workspace import Workspace

TINY = ["engines:tiny", "engines:tiny_accuracy", "engines:tiny_cached"]
ALL = ["engines:other", *TINY]
TEST = ["engines:tiny_accuracy"]

CHANGES = [
    # Models.
    ("models/tiny/model.safetensors", TINY),
    ("models/tiny/config.json", TINY),
    ("models/tiny/tokenizer.json", TINY),
    ("models/other/tokenizer_config.json", ["engines:other"]),
    ("models/tiny/heldout.txt", TEST),
    # Toolchains and locks.
    ("toolchains/rtx1.7_cu13.0.toml", ALL),
    ("lockfiles/tensorrt_rtx.txt", ALL),
    ("lockfiles/onnx.txt", ALL),
    ("lockfiles/export.txt", ["engines:tiny", "engines:tiny_accuracy"]),
    ("lockfiles/validate.txt", TEST),
    ("lockfiles/minilm.txt", []),
    # The library.
    ("src/enginewright/step.py", ALL),
    ("src/enginewright/products/tensorrt/builder.py", ALL),
    ("src/enginewright/exporters/torch/export.py", ["engines:tiny", "engines:tiny_accuracy"]),
    (
        "src/enginewright/exporters/direct/decoder_graph.py",
        ["engines:other", "engines:tiny_cached"],
    ),
    ("src/enginewright/provenance/bom.py", ALL),
    ("src/enginewright/validation/judgement.py", TEST),
    ("src/enginewright/validation/reference_model.py", TEST),
    ("src/enginewright/doctor/report.py", []),
    ("README.md", []),
]

# An edit of a rule starts the daemon anew: these rows ask for the file's dependents instead.
PLUGIN = "rules/pants_enginewright"
RULES = [
    (f"{PLUGIN}/build_files/fields.py", ALL),
    (f"{PLUGIN}/products/tensorrt_rtx/build.py", ALL),
    (f"{PLUGIN}/products/onnxruntime/build.py", []),
    (f"{PLUGIN}/steps/action.py", ALL),
    (f"{PLUGIN}/engines/engine.py", ALL),
    (f"{PLUGIN}/goals/package.py", ALL),
    (f"{PLUGIN}/goals/test.py", TEST),
    (f"{PLUGIN}/provenance/provenance.py", ALL),
    (f"{PLUGIN}/goals/generate_lockfiles.py", []),
    (f"{PLUGIN}/launch/start.py", ALL),
    (f"{PLUGIN}/launch/launch.sh", ALL),
]


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A Test", "-c", "user.email=test@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    workspace = Workspace.create(tmp_path_factory.mktemp("affected") / "repository")
    (workspace.root / ".gitignore").write_text("/.pids/\n/.pants.d/\n/dist/\n")
    git(workspace.root, "init", "--quiet")
    git(workspace.root, "add", "--all")
    git(workspace.root, "commit", "--quiet", "--message", "First")
    yield workspace
    workspace.stop()


def listed(repository: Workspace, *arguments: str) -> list[str]:
    """Addresses under engines/ that a goal lists."""
    done = repository.pants("--level=error", *arguments)
    assert done.returncode == 0, done.stdout
    return [line for line in done.stdout.splitlines() if line.startswith("engines:")]


def affected(repository: Workspace) -> list[str]:
    return listed(repository, "--changed-since=HEAD", "--changed-dependents=transitive", "list")


def test_no_change_selects_nothing(repository: Workspace) -> None:
    assert affected(repository) == []


@pytest.mark.parametrize(("path", "selected"), CHANGES, ids=[path for path, _ in CHANGES])
def test_a_change_selects_what_it_touches(
    repository: Workspace, path: str, selected: list[str]
) -> None:
    with repository.changed(path):
        file = repository.root / path
        file.write_bytes(file.read_bytes() + b"\n")
        assert affected(repository) == selected


def test_two_changes_select_what_either_touches(repository: Workspace) -> None:
    with repository.changed("models/other/config.json", "models/tiny/heldout.txt"):
        for path in ("models/other/config.json", "models/tiny/heldout.txt"):
            file = repository.root / path
            file.write_bytes(file.read_bytes() + b"\n")
        assert affected(repository) == ["engines:other", "engines:tiny_accuracy"]


@pytest.mark.parametrize(("path", "selected"), RULES, ids=[path for path, _ in RULES])
def test_a_rule_has_what_it_touches_as_dependents(
    repository: Workspace, path: str, selected: list[str]
) -> None:
    assert listed(repository, "dependents", "--transitive", path) == selected


def test_a_changed_rule_selects_what_it_touches(repository: Workspace) -> None:
    with repository.changed(f"{PLUGIN}/validation/validation.py"):
        file = repository.root / PLUGIN / "validation" / "validation.py"
        file.write_bytes(file.read_bytes() + b"\n")
        assert affected(repository) == TEST

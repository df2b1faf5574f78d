"""A step gets the modules that it imports, so that editing others leaves its result alone."""

from __future__ import annotations

from typing import Dict, Tuple

import pytest
from pants.backend.python import target_types_rules
from pants.backend.python.dependency_inference import rules as dependency_inference_rules
from pants.backend.python.target_types import PythonSourcesGeneratorTarget
from pants.core.target_types import ResourcesGeneratorTarget
from pants.core.target_types import rules as core_target_types_rules
from pants.core.util_rules import stripped_source_files
from pants.engine.fs import Digest, Snapshot
from pants.engine.internals.scheduler import ExecutionError
from pants.engine.rules import QueryRule
from pants.testutil.rule_runner import PYTHON_BOOTSTRAP_ENV, RuleRunner
from pants_enginewright.steps import library
from pants_enginewright.steps.library import Library, LibraryRequest

FILES = {
    "src/enginewright/__init__.py": '"""The library."""\n',
    "src/enginewright/hashing.py": "SIZE = 1\n",
    "src/enginewright/validation.py": "import enginewright.hashing\n",
    "src/enginewright/limits.py": "import enginewright.hashing\n",
    "src/enginewright/limits.toml": "opset = 23\n",
    "src/enginewright/BUILD": (
        'python_sources(overrides={"limits.py": {"dependencies": [":tables"]}})\n'
        'resources(name="tables", sources=["*.toml"])\n'
    ),
    "src/enginewright/actions/__init__.py": "",
    "src/enginewright/actions/check.py": "from enginewright.limits import hashing\n",
    "src/enginewright/actions/validate.py": "import enginewright.validation\n",
    "src/enginewright/actions/BUILD": "python_sources()\n",
}


@pytest.fixture
def runner() -> RuleRunner:
    runner = RuleRunner(
        rules=[
            *library.rules(),
            *core_target_types_rules(),
            *dependency_inference_rules.rules(),
            *stripped_source_files.rules(),
            *target_types_rules.rules(),
            QueryRule(Library, [LibraryRequest]),
            QueryRule(Snapshot, [Digest]),
        ],
        target_types=[PythonSourcesGeneratorTarget, ResourcesGeneratorTarget],
    )
    runner.set_options(
        ["--source-root-patterns=/src", "--python-infer-use-rust-parser"],
        env_inherit=PYTHON_BOOTSTRAP_ENV,
    )
    runner.write_files(FILES)
    return runner


def test_modules_that_a_step_imports_by_name_come_with_what_they_import(
    runner: RuleRunner,
) -> None:
    request = LibraryRequest("enginewright.actions.check", ("enginewright.validation",))
    digest = runner.request(Library, [request]).files.digest
    files = runner.request(Snapshot, [digest]).files
    assert "__library/enginewright/validation.py" in files
    assert "__library/enginewright/actions/check.py" in files
    assert "__library/enginewright/actions/validate.py" not in files


def library_of(runner: RuleRunner, action: str) -> Tuple[Digest, Tuple[str, ...]]:
    found = runner.request(Library, [LibraryRequest(f"enginewright.actions.{action}")])
    return found.files.digest, runner.request(Snapshot, [found.files.digest]).files


def test_a_step_gets_what_it_imports_and_the_tables_of_that(runner: RuleRunner) -> None:
    assert library_of(runner, "check")[1] == (
        "__library/enginewright/__init__.py",
        "__library/enginewright/actions/check.py",
        "__library/enginewright/hashing.py",
        "__library/enginewright/limits.py",
        "__library/enginewright/limits.toml",
    )


def edited(runner: RuleRunner, edits: Dict[str, str]) -> Dict[str, bool]:
    """Whether the library of each step is another one after the edits."""
    before = {action: library_of(runner, action)[0] for action in ("check", "validate")}
    runner.write_files({f"src/enginewright/{path}": text for path, text in edits.items()})
    return {action: library_of(runner, action)[0] != digest for action, digest in before.items()}


def test_an_edit_reaches_the_steps_that_import_the_module(runner: RuleRunner) -> None:
    assert edited(runner, {"validation.py": "import enginewright.hashing  # x\n"}) == {
        "check": False,
        "validate": True,
    }
    assert edited(runner, {"limits.toml": "opset = 24\n"}) == {"check": True, "validate": False}
    assert edited(runner, {"hashing.py": "SIZE = 2\n"}) == {"check": True, "validate": True}
    assert edited(runner, {"actions/validate.py": ""}) == {"check": False, "validate": True}


def test_a_library_that_no_target_owns_is_an_error(runner: RuleRunner) -> None:
    runner.set_options(
        ["--source-root-patterns=/src", "--enginewright-library-root=lib"],
        env_inherit=PYTHON_BOOTSTRAP_ENV,
    )
    with pytest.raises(ExecutionError) as raised:
        library_of(runner, "check")
    (error,) = raised.value.wrapped_exceptions
    assert str(error) == (
        "no target owns lib/enginewright/actions/check.py: `[enginewright].library_root` is 'lib', "
        "and a `python_sources` target must own the library there"
    )

"""One place makes processes, and says what they see of the host."""

from __future__ import annotations

import re
from pathlib import Path

import pants_enginewright
from pants.engine.fs import EMPTY_DIGEST, Digest
from pants.engine.process import ProcessCacheScope
from pants_enginewright.steps.hermetic_process import (
    INDEX_CACHE,
    UV_CACHE,
    hermetic_process,
    process_key,
    without_caches,
)

PLUGIN = Path(pants_enginewright.__file__).parent


def test_nothing_of_the_host_but_a_path_and_no_language() -> None:
    process = hermetic_process(["/bin/true"], "nothing")
    assert dict(process.env) == {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    assert process.input_digest == EMPTY_DIGEST
    assert dict(process.immutable_input_digests) == {}
    assert process.cache_scope == ProcessCacheScope.SUCCESSFUL


def test_named_caches_and_descriptions_are_in_no_key() -> None:
    one = hermetic_process(["/bin/true"], "one", caches=INDEX_CACHE)
    other = hermetic_process(["/bin/true"], "other", caches=UV_CACHE)
    assert process_key(one) == process_key(other)


def test_inputs_wheels_and_variables_are_in_the_key() -> None:
    digest = Digest("1" * 64, 10)
    keys = {
        process_key(hermetic_process(["/bin/true"], "x")),
        process_key(hermetic_process(["/bin/false"], "x")),
        process_key(hermetic_process(["/bin/true"], "x", inputs=digest)),
        process_key(hermetic_process(["/bin/true"], "x", wheels=digest)),
        process_key(hermetic_process(["/bin/true"], "x", variables={"A": "1"})),
    }
    assert len(keys) == 5


def test_a_process_without_caches_has_the_same_key() -> None:
    process = hermetic_process(["/bin/true"], "nothing")
    again = without_caches(process)
    assert again.cache_scope == ProcessCacheScope.PER_SESSION
    assert process_key(again) == process_key(process)


def test_no_other_module_makes_a_process() -> None:
    made = re.compile(r"(?<![\w.])(?:Interactive)?Process\(")
    makers = [
        path.relative_to(PLUGIN).as_posix()
        for path in sorted(PLUGIN.rglob("*.py"))
        if made.search(path.read_text(encoding="utf-8"))
    ]
    assert makers == ["steps/hermetic_process.py"]

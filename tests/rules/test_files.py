"""Files of the tree are data, whatever a checkout calls executable."""

from __future__ import annotations

from pants.engine.fs import Digest
from pants.testutil.rule_runner import MockGet, run_rule_with_mocks
from pants_enginewright.steps.files import (
    ComposeFiles,
    Data,
    File,
    Files,
    ListData,
    ListFiles,
    list_data,
)

LISTED, PLAIN = Digest("1" * 64, 10), Digest("2" * 64, 10)


def data(*files: File) -> Files:
    mocks = [
        MockGet(Files, (ListFiles,), lambda request: Files(request.digest, files)),
        MockGet(Files, (ComposeFiles,), lambda request: Files(PLAIN, request.entries)),
    ]
    found: Data = run_rule_with_mocks(list_data, rule_args=[ListData(LISTED)], mock_gets=mocks)
    return found.files


def test_plain_files_stay_as_they_are() -> None:
    assert data(File("a", "a" * 64, 1)) == Files(LISTED, (File("a", "a" * 64, 1),))


def test_the_executable_bit_is_dropped() -> None:
    program = File("a", "a" * 64, 1, is_executable=True)
    assert data(program) == Files(PLAIN, (File("a", "a" * 64, 1, is_executable=False),))

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from enginewright.engine import deterministic_process

SCRIPT = """
import ctypes, sys
from enginewright.engine import deterministic_process as process

print("started", flush=True)
process.enter()
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
print(process.is_entered(), sys.argv[1:], process.call_in_fresh_thread(lambda: malloc(5000)))
"""


def start(folder: Path) -> list[str]:
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    environment = {"PYTHONPATH": path, "PLACE": str(folder)}
    command = [sys.executable, "script.py", "a b"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


def test_a_fresh_thread_gets_the_same_addresses_in_every_process(tmp_path: Path) -> None:
    first, second = start(tmp_path / "a"), start(tmp_path / ("b" * 100))
    assert first[:2] == ["started", "started"]
    assert first[2].startswith("True ['a b'] ")
    assert second == first


def test_this_process_is_not_such_a_one() -> None:
    assert not deterministic_process.is_entered()


def test_the_fresh_thread_is_another_one_and_its_result_comes_back() -> None:
    ident = deterministic_process.call_in_fresh_thread(threading.get_ident)
    assert ident != threading.get_ident()


def test_errors_of_the_fresh_thread_are_passed_on() -> None:
    def refuse() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        deterministic_process.call_in_fresh_thread(refuse)

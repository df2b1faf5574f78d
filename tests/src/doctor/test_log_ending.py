"""A log that ends in an error is never fine, whether its text is known or not."""

from pathlib import Path

import pytest

from enginewright.doctor import messages
from enginewright.doctor.log import NOTHING_KNOWN, examine_log
from enginewright.doctor.log_ending import fatal_ending

TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "serve.py", line 3, in <module>',
    "    load()",
    "KeyError: 'quux'",
]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (TRACEBACK, "KeyError: 'quux'"),
        (["(EngineCore pid=5) my.pkg.WeirdError: bad thing"], "WeirdError: bad thing"),
        (["terminate called after throwing an instance of 'std::runtime_error'",
          "  what():  Failed to create object", "Aborted (core dumped)"],
         "what():  Failed to create object"),
        (["Segmentation fault (core dumped)"], "Segmentation fault (core dumped)"),
        (["thread 'main' panicked at src/main.rs:4:5:", "index out of bounds"],
         "thread 'main' panicked"),
        (["panic: runtime error: invalid memory address", "goroutine 1 [running]:"],
         "panic: runtime error"),
        (["[03/04/2026-10:00:00] [E] something that nobody knows"], "[E] something"),
        (["E0103 19:49:01.024984 142 model.cc:597] odd"], "E0103 19:49:01.024984"),
        (["2026-01-01 ERROR worker: quux is not frobbed"], "quux is not frobbed"),
        (["nvcc fatal   : quux"], "nvcc fatal"),
        (["FATAL: quux"], "FATAL: quux"),
        (["x.c:3:1: error: quux", "make: *** [all] Error 1"], "error: quux"),
        (["error: aborting due to quux"], "error: aborting due to quux"),
        (["worker ended", "container exited with code 3"], "exited with code 3"),
        (["Process finished with exit code 139"], "exit code 139"),
        (["x: y.c:32: f: Assertion `b != nullptr' failed."], "Assertion `b != nullptr' failed."),
        (["\x1b[1;31m2026 [E:onnxruntime:, s.cc:1] quux\x1b[m"], "[E:onnxruntime:, s.cc:1] quux"),
        (["Killed"], "Killed"),
        (["INFO start", *TRACEBACK, "INFO: cleaning up", "INFO: bye"], "KeyError: 'quux'"),
    ],
)  # fmt: skip
def test_row_d8_an_unknown_error_at_the_end_is_told_and_exits_1(tmp_path, lines, told):
    log = tmp_path / "log"
    log.write_text("INFO: begun\n" + "\n".join(lines) + "\n", encoding="utf-8")
    diagnosis = examine_log(log)
    assert [one.code for one in diagnosis.findings] == ["log.unknown-error"]
    assert diagnosis.exit_code == 1
    assert told in diagnosis.findings[0].seen


def test_row_d8_the_number_of_the_line_is_told(tmp_path):
    log = tmp_path / "log"
    log.write_text("\n".join(["INFO x"] * 500 + TRACEBACK), encoding="utf-8")
    assert examine_log(log).findings[0].seen.startswith("line 504, where the log ends: KeyError")


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["INFO: loaded 3 shards", "done", ""],
        ["12 passed, 0 failed", "0 errors"],
        ["finished with exit code 0"],
        ["INFO: error rate 0.0 %", "INFO: errors: 0"],
        ["INFO: Errors are written to errors.log"],
        ["WARNING: deprecated"],
        [*TRACEBACK, *["INFO: request served"] * 60],
        ["no errors found"],
    ],
)
def test_a_log_that_ends_well_has_no_ending(tmp_path, lines):
    assert fatal_ending(lines) is None
    log = tmp_path / "log"
    log.write_text("\n".join(lines), encoding="utf-8")
    diagnosis = examine_log(log)
    assert (diagnosis.findings, diagnosis.exit_code) == ((), 0)
    assert diagnosis.summary == NOTHING_KNOWN


def test_a_known_text_is_enough(tmp_path: Path):
    log = tmp_path / "log"
    log.write_text("\n".join(["Error 804: x", *TRACEBACK]), encoding="utf-8")
    assert [one.code for one in examine_log(log).findings] == ["log.cuda-804"]


def test_a_known_warning_does_not_hide_an_unknown_end(tmp_path: Path):
    log = tmp_path / "log"
    lines = ["[W] using a fresh timing cache", *TRACEBACK]
    log.write_text("\n".join(lines), encoding="utf-8")
    assert [one.code for one in examine_log(log).findings] == [
        "log.fresh-timing-cache",
        "log.unknown-error",
    ]


def test_of_a_log_that_is_too_long_the_end_is_read_and_the_rest_named(tmp_path, monkeypatch):
    monkeypatch.setattr(messages, "MAX_LOG", 1000)
    log = tmp_path / "log"
    log.write_text("INFO x\n" * 1000 + "KeyError: 'quux'\n", encoding="utf-8")
    diagnosis = examine_log(log)
    assert "KeyError: 'quux'" in diagnosis.findings[0].seen
    assert diagnosis.skipped[0].reason.startswith("its first 6017 bytes were not read")

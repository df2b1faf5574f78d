"""Records of three commits: their order, their numbers, the table and the picture."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from enginewright.cli import main
from enginewright.commands.record_comparison import RecordedStep
from enginewright.errors import InputError
from enginewright.history import plot
from enginewright.history.course import Moment, courses
from enginewright.history.records import NamedRecord, read_records

SVG = "{http://www.w3.org/2000/svg}"


def step(source: str, size: int, outputs: str, **more: Any) -> RecordedStep:
    return RecordedStep("build_engine", "engines:a", "k", outputs, source, size, 1500, **more)


JUDGED = RecordedStep(
    "judge_accuracy", "engines:a_test", "k", "o", "ran here", 10, 500, {"top1_agreement": 0.75}
)
FIRST = NamedRecord("1", (step("ran here", 100, "x"), JUDGED))
SECOND = NamedRecord("2", (step("local cache", 100, "x"),))
THIRD = NamedRecord("3", (step("ran remotely", 300, "y"), step("remote cache", 300, "y"), JUDGED))
RECORDS = (FIRST, SECOND, THIRD)


def document(record: NamedRecord) -> str:
    rows = [
        {
            "action": one.action,
            "address": one.address,
            "key": one.key,
            "outputs": one.outputs,
            "from": one.source,
            "bytes": one.bytes,
            "milliseconds": one.milliseconds,
            **({"measured": one.measured} if one.measured else {}),
        }
        for one in record.steps
    ]
    return json.dumps({"steps": rows, "totals": {}})


def test_numbers_of_a_target() -> None:
    (course,) = courses(RECORDS, ["engines:a"])
    assert course.moments == (
        Moment("1", 100, 1.5, 0.0, 1, 0, {}),
        Moment("2", 100, 0.0, 1.5, 0, 1, {}),
        # Built twice with the same bytes: they count once.
        Moment("3", 300, 1.5, 1.5, 1, 1, {}),
    )
    assert [moment.hits for moment in course.moments if moment] == [0.0, 1.0, 0.5]


def test_a_record_without_the_target_has_no_numbers_of_it() -> None:
    (course,) = courses(RECORDS, ["engines:a_test"])
    assert course.moments[1] is None
    assert course.measures == ("top1_agreement",)


def test_both_steps_of_a_test_say_what_it_measured() -> None:
    record = NamedRecord("1", (dataclasses.replace(JUDGED, action="measure_accuracy"), JUDGED))
    (course,) = courses([record], ["engines:a_test"])
    assert [moment.measured for moment in course.moments if moment] == [{"top1_agreement": 0.75}]


def test_two_tests_have_no_number_together() -> None:
    other = dataclasses.replace(JUDGED, address="engines:b_test", measured={"top1_agreement": 0.5})
    whole, *_ = courses([NamedRecord("1", (JUDGED, other))])
    assert whole.measures == ()


def test_an_unknown_target_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match="engines:a, engines:a_test") as caught:
        courses(RECORDS, ["engines:b", "engines:c"])
    assert [problem.where for problem in caught.value.problems] == ["engines:b", "engines:c"]


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for record in RECORDS:
        (tmp_path / f"{record.name}.json").write_text(document(record))
    assert main(["history", str(tmp_path), "--target", "engines:a_test"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "engines:a_test",
        "record  bytes  s built  s saved  built  cached  hits  top1_agreement",
        "1          10      0.5      0.0      1       0    0%            0.75",
        "2           -        -        -      -       -     -               -",
        "3          10      0.5      0.0      1       0    0%            0.75",
    ]


def test_the_picture_has_a_point_where_there_is_a_number() -> None:
    picture = ET.fromstring(plot.render(courses(RECORDS, ["engines:a_test"]), RECORDS))
    lines = [line.get("points") for line in picture.iter(f"{SVG}polyline")]
    # Four panels, each broken where the second record has nothing.
    assert lines[:2] == ["20.0,80.0", "700.0,80.0"]
    assert len(lines) == 8
    titles = [title.text for title in picture.iter(f"{SVG}title")]
    assert titles[-2:] == ["1: 0.75", "3: 0.75"]


def test_a_line_goes_from_the_smallest_to_the_greatest() -> None:
    picture = ET.fromstring(plot.render(courses(RECORDS, ["engines:a"]), RECORDS))
    line = next(picture.iter(f"{SVG}polyline"))
    assert line.get("points") == "20.0,116.0 360.0,116.0 700.0,44.0"


def test_numbers_in_names_are_numbers(tmp_path: Path) -> None:
    for name in ("run-10", "run-9"):
        (tmp_path / f"{name}.json").write_text(document(FIRST))
    assert [record.name for record in read_records(tmp_path, None)] == ["run-9", "run-10"]


def test_commits_come_in_the_order_of_their_history(tmp_path: Path) -> None:
    repository, folder = tmp_path / "repository", tmp_path / "records"
    folder.mkdir()
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    commits = []
    for message in ("first", "second", "third"):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True)
        commits.append(head.stdout.decode().strip()[:20])
    for commit in commits:
        (folder / f"{commit}.json").write_text(document(FIRST))
    assert [record.name for record in read_records(folder, repository)] == commits
    (folder / "elsewhere.json").write_text(document(FIRST))
    with pytest.raises(InputError, match="no commit of the repository"):
        read_records(folder, repository)


def test_all_files_that_are_no_records_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("nonsense")
    with pytest.raises(InputError) as caught:
        read_records(tmp_path, None)
    first, second = (problem.where for problem in caught.value.problems)
    assert first == str(tmp_path / "a.json")
    assert second.startswith(str(tmp_path / "b.json"))


def test_a_folder_without_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(tmp_path / "absent")]) == 1
    assert "no such folder" in capsys.readouterr().err

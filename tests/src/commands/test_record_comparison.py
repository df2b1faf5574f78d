"""Two records side by side, and the step that is not deterministic by name."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from enginewright.commands.record_comparison import RecordedStep, compare, read_record, render
from enginewright.errors import InputError


def step(action: str, key: str, outputs: str, source: str = "ran here") -> RecordedStep:
    return RecordedStep(action, "engines:small", key, outputs, source, 10, 1500)


EXPORT = step("export_onnx", "k1", "o1")
BUILD = step("build_engine", "k2", "o2")


def verdicts(first: list[RecordedStep], second: list[RecordedStep]) -> dict[str, str]:
    return {pair.name.split()[0]: pair.verdict for pair in compare(first, second)}


def test_the_same_build_twice() -> None:
    cached = step("build_engine", "k2", "o2", "remote cache")
    assert verdicts([EXPORT, BUILD], [EXPORT, cached]) == {
        "build_engine": "same",
        "export_onnx": "same",
    }


def test_other_results_for_the_same_key_are_not_deterministic() -> None:
    other = step("build_engine", "k2", "o3")
    assert verdicts([EXPORT, BUILD], [EXPORT, other])["build_engine"] == "NOT DETERMINISTIC"
    text = render(compare([EXPORT, BUILD], [EXPORT, other]))
    assert "build_engine engines:small is not deterministic" in text
    assert "first    o2" in text
    assert "second   o3" in text
    assert "export_onnx engines:small is not" not in text


def test_other_inputs_are_no_fault() -> None:
    assert verdicts([BUILD], [step("build_engine", "k9", "o9")]) == {"build_engine": "other inputs"}


def test_steps_that_one_record_lacks() -> None:
    assert verdicts([EXPORT], [BUILD]) == {
        "build_engine": "only in the second",
        "export_onnx": "only in the first",
    }


def test_a_repeated_step_is_paired_by_key() -> None:
    again = step("build_engine", "k3", "o2")
    pairs = compare([BUILD, again], [again, BUILD])
    assert [(p.first, p.second) for p in pairs] == [(BUILD, BUILD), (again, again)]


def test_the_table() -> None:
    cached = step("build_engine", "k2", "o2", "remote cache")
    assert render(compare([BUILD], [cached])).splitlines() == [
        "step                        first           second              result",
        "build_engine engines:small  ran here 1.5 s  remote cache 1.5 s  same",
    ]


def test_a_record_is_read(tmp_path: Path) -> None:
    row = {
        "action": "build_engine",
        "address": "engines:small",
        "key": "k2",
        "outputs": "o2",
        "from": "ran here",
        "milliseconds": 1500,
        "bytes": 10,
    }
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"steps": [row], "totals": {}}))
    assert read_record(path) == (BUILD,)


def test_all_faults_of_a_record_are_named(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"steps": [{"action": 1, "address": "a", "key": "k", "bytes": 2}]}))
    with pytest.raises(InputError) as caught:
        read_record(path)
    assert [(p.what, p.where) for p in caught.value.problems] == [
        ("field has a wrong value", f"{path}, steps[0].action"),
        ("field `outputs` is missing", f"{path}, steps[0]"),
        ("field `from` is missing", f"{path}, steps[0]"),
    ]


def renamed(step: RecordedStep, **changes: str) -> RecordedStep:
    return dataclasses.replace(step, address="engines:tiny", **changes)


def test_a_renamed_target_keeps_its_pairs() -> None:
    pairs = compare([EXPORT, BUILD], [renamed(EXPORT), renamed(BUILD, outputs="o3")])
    assert [(pair.name, pair.verdict) for pair in pairs] == [
        ("build_engine engines:small -> engines:tiny", "NOT DETERMINISTIC"),
        ("export_onnx engines:small -> engines:tiny", "same"),
    ]


def test_a_renamed_target_with_another_input_is_found_by_what_it_put_out() -> None:
    (pair,) = compare([EXPORT], [renamed(EXPORT, key="k9")])
    assert (pair.name, pair.verdict) == (
        "export_onnx engines:small -> engines:tiny",
        "other inputs",
    )


def test_a_target_that_is_in_both_records_is_no_renamed_one() -> None:
    twice = [EXPORT, EXPORT]
    pairs = compare(twice, [EXPORT, renamed(EXPORT)])
    assert [pair.verdict for pair in pairs] == ["same", "only in the first", "only in the second"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not valid JSON"),
        ("nonsense", "not valid JSON"),
        ("[]", "not a JSON object"),
        ("{}", "field `steps` is missing"),
        ('{"steps": {}}', "record.json, steps"),
    ],
)
def test_other_files_are_no_record(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(InputError, match=what):
        read_record(path)

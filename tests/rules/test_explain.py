import dataclasses
from pathlib import Path

from pants_enginewright.explain.build_lines import find_line
from pants_enginewright.explain.contents import in_words
from pants_enginewright.explain.difference import Difference, differences, nearest
from pants_enginewright.explain.explanation import SeenStep, explain
from pants_enginewright.explain.history import History, before_last_change
from pants_enginewright.explain.words import difference_in_words, lines
from pants_enginewright.steps.made_from import MadeFrom, MadeStep

BUILD = MadeStep(
    action="build_engine",
    address="engines:tiny",
    key="1" * 64,
    made_from=MadeFrom(
        module="enginewright.products.toy.build",
        parameters={"profiles": [{"batch": [1, 1, 4]}], "level": None},
        inputs={"model": {"model.onnx": "a" * 64}},
        modules={"__library/enginewright/step.py": "b" * 64},
        wheels={"onnx-1.20.0-cp311-none-any.whl": "c" * 64},
        python="3.11.7",
        attempt=1,
    ),
    outputs={"engine.plan": "d" * 64},
    result={"bytes": 10},
    milliseconds=1200,
)


def changed(key: str, **members: object) -> MadeStep:
    made_from = dataclasses.replace(BUILD.made_from, **members)
    return dataclasses.replace(BUILD, key=key * 64, made_from=made_from)


def words(**members: object) -> list:
    after = dataclasses.replace(BUILD.made_from, **members)
    return [difference_in_words(found) for found in differences(BUILD.made_from, after)]


def test_a_parameter_by_its_path() -> None:
    assert words(parameters={"profiles": [{"batch": [1, 1, 8]}], "level": None}) == [
        "profiles[0].batch max 4 -> 8"
    ]
    assert words(parameters={"profiles": [{"batch": [1, 1, 4]}], "level": 3}) == ["level none -> 3"]


def test_an_input_by_role_and_file() -> None:
    assert words(inputs={"model": {"model.onnx": "e" * 64}}) == ["model: model.onnx"]
    assert words(inputs={"model": {**BUILD.made_from.inputs["model"], "data": "e" * 64}}) == [
        "model: data, which is new"
    ]


def test_a_module_a_wheel_and_the_interpreter() -> None:
    assert words(modules={"__library/enginewright/step.py": "e" * 64}) == [
        "library enginewright/step.py"
    ]
    assert words(wheels={"onnx-1.21.0-cp311-none-any.whl": "e" * 64}) == [
        "wheel onnx 1.20.0 -> 1.21.0"
    ]
    assert words(wheels={"onnx-1.20.0-cp311-none-any.whl": "e" * 64}) == [
        "wheel onnx 1.20.0, of other bytes"
    ]
    assert words(python="3.11.8") == ["CPython 3.11.7 -> 3.11.8"]


def test_a_file_in_a_parameter_is_told_by_its_path_once() -> None:
    before = dataclasses.replace(
        BUILD.made_from, parameters={"of": [{"path": "a/b.toml", "sha256": "1" * 64, "size": 3}]}
    )
    after = dataclasses.replace(
        BUILD.made_from, parameters={"of": [{"path": "a/b.toml", "sha256": "2" * 64, "size": 4}]}
    )
    assert differences(before, after) == [Difference("parameters", "a/b.toml", "1" * 64, "2" * 64)]
    assert [difference_in_words(found) for found in differences(before, after)] == ["a/b.toml"]


def test_the_nearest_is_of_the_same_target_and_differs_least() -> None:
    far = changed("2", python="3.10.0", parameters={})
    near = changed("3", python="3.11.8")
    other = dataclasses.replace(changed("4"), address="engines:old")
    assert nearest(BUILD, [(1, far), (2, near), (3, other)]) == near
    assert nearest(BUILD, [(3, other)]) == other
    assert nearest(BUILD, [(1, BUILD)]) is None
    again = changed("5", attempt=2)
    assert nearest(BUILD, [(1, again)]) is None


def test_what_another_step_put_out_is_no_beginning() -> None:
    export = MadeStep(
        action="export",
        address="models:tiny",
        key="6" * 64,
        made_from=MadeFrom("enginewright.export", {"opset": 22}, {}, {}, {}, "3.11.7", 1),
        outputs={"model.onnx": "e" * 64},
        result={"length": 512},
        milliseconds=1,
    )
    former_export = dataclasses.replace(
        export,
        key="7" * 64,
        made_from=dataclasses.replace(export.made_from, parameters={"opset": 23}),
        outputs={"model.onnx": "a" * 64},
        result={"length": 256},
    )
    build = changed("8", inputs={"model": {"model.onnx": "e" * 64}})
    steps = [SeenStep(export, "ran here", True), SeenStep(build, "ran here", True)]
    former = {"export": [(1, former_export)], "build_engine": [(1, BUILD)]}
    assert lines(steps, explain(steps, former), 0) == [
        "export models:tiny: ran here",
        "  opset 23 -> 22",
        "build_engine engines:tiny: ran here",
        "  model: model.onnx, put out by export models:tiny",
        "",
        "Changed:",
        "  opset 23 -> 22",
    ]


def test_another_name_is_said() -> None:
    renamed = dataclasses.replace(changed("9", python="3.11.8"), address="engines:new")
    steps = [SeenStep(renamed, "ran here", True)]
    told = lines(steps, explain(steps, {"build_engine": [(1, BUILD)]}), 0)
    assert told[1:3] == ["  was engines:tiny", "  CPython 3.11.7 -> 3.11.8"]


def test_a_history_keeps_runs_and_what_their_steps_were_made_from(tmp_path: Path) -> None:
    history = History.of(str(tmp_path))
    name = (BUILD.action, BUILD.address, BUILD.key)
    history.add([BUILD], [name])
    history.add([], [name])
    assert history.runs() == [[name]]
    kept = history.step(BUILD.key)
    assert kept is not None
    assert kept.text() == BUILD.text()
    assert history.step("0" * 64) is None
    other = (BUILD.action, BUILD.address, "2" * 64)
    history.add([], [other])
    assert before_last_change(history.runs(), [other])[1] == 1
    assert before_last_change(history.runs(), [name])[1] == 0


def test_a_damaged_history_is_no_history(tmp_path: Path) -> None:
    history = History.of(str(tmp_path))
    history.add([BUILD], [(BUILD.action, BUILD.address, BUILD.key)])
    (tmp_path / "enginewright" / "runs" / "00000001.json").write_text("[")
    (tmp_path / "enginewright" / "steps" / f"{BUILD.key}.json").write_text("{}")
    assert history.runs() == [[]]
    assert history.step(BUILD.key) is None


def test_the_line_of_a_field(tmp_path: Path) -> None:
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "BUILD").write_text(
        'toy_engine(\n    name="tiny",\n    profiles=[\n        {"batch": (1, 1, 8)},\n    ],\n)\n'
    )
    assert find_line(tmp_path, "engines:tiny", "profiles[0].batch[2]", 8) == "engines/BUILD:4"
    assert find_line(tmp_path, "engines:tiny", "profiles[0].batch[1]", 1) == "engines/BUILD:3"
    assert find_line(tmp_path, "engines:tiny", "level", 3) is None
    assert find_line(tmp_path, "engines:other", "profiles", 8) is None


def test_fields_of_a_file_in_words() -> None:
    assert in_words({"eps": 1e-6, "a.b": 1}, {"eps": 1e-5, "a.b": 1}) == "eps 1e-06 -> 1e-05"
    assert in_words({"a": 1}, {"a": 1}) == "white space or order, no value"

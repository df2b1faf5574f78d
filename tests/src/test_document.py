from __future__ import annotations

from enginewright.document import Document
from enginewright.hashing import FileDigest


def test_fields_of_the_right_type_are_returned_without_problems() -> None:
    document = Document(
        {
            "name": "a",
            "size": 3,
            "sha256": "ab" * 32,
            "on": True,
            "list": ["x"],
            "objects": [{"name": "b"}],
        },
        "engine.json",
    )
    assert document.text("name") == "a"
    assert document.digest() == FileDigest("ab" * 32, 3)
    assert document.flag("on") is True
    assert document.texts("list") == ("x",)
    assert document.children("objects", lambda child: child.text("name")) == ("b",)
    assert document.problems == []


def test_each_missing_or_wrong_field_is_a_problem_with_its_place() -> None:
    document = Document(
        {
            "name": 1,
            "size": -1,
            "sha256": "AB",
            "list": [1],
            "objects": ["x", {"name": 2}],
            "plan": {"size": True},
        },
        "engine.json",
    )
    document.text("name")
    document.text("task")
    document.number("size")
    document.sha256("sha256")
    document.texts("list")
    document.children("objects", lambda child: child.text("name"))
    document.child("plan").number("size")
    assert [(problem.what, problem.where) for problem in document.problems] == [
        ("field has a wrong value", "engine.json, name"),
        ("field `task` is missing", "engine.json"),
        ("field has a wrong value", "engine.json, size"),
        ("field has a wrong value", "engine.json, sha256"),
        ("field has a wrong value", "engine.json, list"),
        ("field has a wrong value", "engine.json, objects[0]"),
        ("field has a wrong value", "engine.json, objects[1].name"),
        ("field has a wrong value", "engine.json, plan.size"),
    ]

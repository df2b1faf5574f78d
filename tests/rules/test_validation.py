"""What the rules for an `engine_test` ask of its steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants.engine.target import InvalidTargetException, Target
from pants.util.frozendict import FrozenDict
from pants_enginewright.engines.engine import Engine
from pants_enginewright.engines.product import Candidate
from pants_enginewright.engines.profiles import ProfilesField
from pants_enginewright.models.model_source import ModelSource
from pants_enginewright.models.origin import LengthLimit
from pants_enginewright.models.tasks import ANY_GRAPH, TASKS, Task
from pants_enginewright.steps.files import File, Files
from pants_enginewright.validation.checked_package import plan_package_check
from pants_enginewright.validation.reference import Reference
from pants_enginewright.validation.targets import EngineTestTarget, TextDatasetTarget
from pants_enginewright.validation.validation import (
    plan_comparison,
    plan_measurement,
    raise_if_other_dataset,
)

HERE = Address("engines", target_name="x")
CHECKPOINT = Reference((), TASKS["text-generation"])
FILE = Reference((), ANY_GRAPH, FrozenDict(x="images"), needs_dataset=False)
PROFILES = [{"batch": (1, 2, 4), "width": (32, 64, 64)}]
RANGES = Candidate((), shapes=ProfilesField(PROFILES, HERE).shapes())
PACKAGE = Files(
    Digest("1" * 64, 10),
    tuple(
        File(name, letter * 64, 10)
        for letter, name in (
            ("a", "README.md"),
            ("b", "engine.json"),
            ("c", "engine.plan"),
            ("d", "k.cubin"),
        )
    ),
)


def test_the_check_of_a_package_gets_all_its_files_and_the_room_of_its_product() -> None:
    nothing: Any = None
    kind: Any = SimpleNamespace(room="enginewright.products.toy")
    planned = plan_package_check(HERE, Engine(kind, nothing, PACKAGE, ()))
    assert {item.role: [file.path for file in item.files] for item in planned.inputs} == {
        "package": ["README.md", "engine.json", "engine.plan", "k.cubin"],
    }
    assert {item.folder for item in planned.inputs} == {"package"}
    assert {item.digest for item in planned.inputs} == {PACKAGE.digest}
    assert planned.parameters == '{\n  "room": "enginewright.products.toy"\n}\n'
    assert planned.modules == ("enginewright.products.toy.product",)


def test_an_engine_that_runs_here_is_opened_by_its_products_room() -> None:
    nothing: Any = None
    kind: Any = SimpleNamespace(room="enginewright.products.toy", needs_device=False)
    candidate = Engine(kind, nothing, PACKAGE, ()).candidate
    assert candidate is not None
    assert [item.role for item in candidate.inputs] == ["package"]
    assert candidate.modules == (
        "enginewright.products.toy.product",
        "enginewright.products.toy.backend",
    )
    planned = plan_measurement(engine_test(), source(None), candidate, CHECKPOINT)
    assert planned["room"] == "enginewright.products.toy"


def test_two_builds_are_compared_with_each_other() -> None:
    first, second = (
        Files(Digest(digit * 64, 10), (File("engine.plan", digit * 64, 10),)) for digit in "12"
    )
    planned = plan_comparison(HERE, first, second)
    assert [(item.role, item.digest) for item in planned.inputs] == [
        ("first", first.digest),
        ("second", second.digest),
    ]


def engine_test(**fields: Any) -> Target:
    return EngineTestTarget({"engine": ":x", **fields}, HERE)


def source(length: Optional[LengthLimit]) -> ModelSource:
    return ModelSource("onnx", HERE, "text-generation", length, Files(), (), None, (), ())


def test_a_measurement_reaches_to_what_engine_and_model_allow() -> None:
    candidate = Candidate((), FrozenDict(batch=4, total_sequence=1024))
    limited = source(LengthLimit(2048, "x"))
    assert plan_measurement(engine_test(max_samples=7), limited, candidate, CHECKPOINT) == {
        "task": "text-generation",
        "limits": {"batch": 4, "total_sequence": 1024},
        "room": None,
        "positions": 2048,
        "max_length": 4096,
        "max_samples": 7,
        "shapes": [],
        "names": {},
    }
    unlimited = plan_measurement(engine_test(), source(None), Candidate(()), CHECKPOINT)
    assert unlimited["positions"] is None


def test_the_limits_are_the_greatest_of_all_profiles() -> None:
    profiles = [
        {"batch": [1, 1, 4], "sequence": [1, 8, 1024], "total_sequence": [1, 8, 1024]},
        {"batch": [1, 1, 8], "sequence": [1, 1, 1], "past_sequence": [0, 1, 9]},
    ]
    assert dict(ProfilesField(profiles, HERE).greatest_sizes()) == {
        "batch": 8,
        "sequence": 1024,
        "total_sequence": 1024,
    }


def test_a_file_is_measured_at_the_sizes_of_the_profiles_as_a_graph_of_any_kind() -> None:
    planned = plan_measurement(engine_test(), source(None), RANGES, FILE)
    assert planned["task"] == "raw-tensors"
    assert planned["names"] == {"x": "images"}
    assert planned["shapes"] == [
        {"batch": 1, "width": 32},
        {"batch": 2, "width": 64},
        {"batch": 4, "width": 64},
    ]
    assert plan_measurement(engine_test(dataset=":d"), source(None), RANGES, FILE)["shapes"] == []


def test_sizes_of_a_test_take_the_place_of_the_profiles() -> None:
    mine = engine_test(shapes=[{"batch": 3, "width": 40}])
    planned = plan_measurement(mine, source(None), RANGES, FILE)
    assert planned["shapes"] == [{"batch": 3, "width": 40}]


def test_sizes_that_no_profile_has_are_refused() -> None:
    mine = engine_test(shapes=[{"batch": 3, "width": 65}])
    with pytest.raises(InvalidTargetException, match="has 65 for axis 'width'; expected 32 to 64"):
        plan_measurement(mine, source(None), RANGES, FILE)


def test_sizes_are_refused_where_a_dataset_decides() -> None:
    mine = engine_test(shapes=[{"batch": 3}])
    with pytest.raises(InvalidTargetException, match="with a checkpoint, its dataset decides"):
        plan_measurement(mine, source(None), RANGES, CHECKPOINT)


def test_a_dataset_of_another_kind_is_refused() -> None:
    task = Task("vision", "vision", "image_dataset", ("batch",), "images to labels")
    dataset = TextDatasetTarget({"source": "a.txt"}, Address("d", target_name="t"))
    with pytest.raises(InvalidTargetException) as caught:
        raise_if_other_dataset(task, engine_test(), dataset)
    assert "`text_dataset` target; expected a `image_dataset` target" in str(caught.value)

"""engine.json, read without trusting it."""

import pytest
from engine_document import onnx_document, plan_document
from hypothesis import given, settings
from hypothesis import strategies as st

from enginewright.doctor.engine_facts import engine_facts
from enginewright.hashing import FileDigest

AXES = (
    {"batch": [1, 1, 8], "sequence": [1, 128, 1024]},
    {"batch": [1, 1, 2], "sequence": [1, 1, 1]},
)
TENSORS = [
    {"name": "ids", "mode": "input", "dtype": "int64", "shape": ["batch", "sequence"]},
    {"name": "logits", "mode": "output", "dtype": "float16", "shape": ["batch", 10]},
]


def document(*, tensors=TENSORS, **head):
    """A plan of 1000 bytes with two profiles."""
    ranges = [[list(row) for row in zip(*axes.values(), strict=True)] for axes in AXES]
    profiles = [
        {"axes": axes, "shapes": {"ids": rows}} for axes, rows in zip(AXES, ranges, strict=True)
    ]
    own = {"profiles": profiles, "compute_capabilities": ["8.9", "12.0"]}
    files = {"engine.plan": {"sha256": "0" * 64, "size": 1000}}
    return plan_document(own, tensors=tensors, files=files, **head)


def test_the_fields_of_a_manifest():
    facts = engine_facts(document(), "engine.json")
    assert (facts.product, str(facts.version)) == ("tensorrt-rtx", "1.7.1.116")
    assert (facts.cuda, str(facts.minimum_driver), facts.device) == ("13.0", "580.65.06", "")
    assert [str(item) for item in facts.compute_capabilities] == ["8.9", "12.0"]
    assert facts.problems == ()
    assert not facts.runs_without_gpu


def test_memory_of_each_profile_is_the_engine_and_its_tensors_at_their_largest():
    first, second = engine_facts(document(), "engine.json").memory
    assert (first.plan, first.tensors, first.complete) == (1000, 8 * 1024 * 8 + 8 * 10 * 2, True)
    assert second.tensors == 2 * 1 * 8 + 2 * 10 * 2


@pytest.mark.parametrize(
    "tensor",
    [
        {"dtype": "string", "shape": [1]},
        {"dtype": "int8", "shape": ["other"]},
        {"dtype": "int8", "shape": [1 << 41]},
        {"dtype": "int8", "shape": [1] * 17},
    ],
)
def test_a_tensor_of_unknown_size_makes_the_sum_a_lower_bound(tensor):
    tensors = [*TENSORS, {"name": "x", "mode": "output", **tensor}]
    first, _ = engine_facts(document(tensors=tensors), "engine.json").memory
    assert (first.tensors, first.complete) == (8 * 1024 * 8 + 160, False)


def test_plugins_and_kernels_are_components():
    kernel = {"name": "norm", "path": "norm.fatbin"}
    plugin = {"name": "rms_norm", "embedded": True, "count": 3}
    facts = engine_facts(document(kernels=[kernel], plugins=[plugin]), "engine.json")
    assert [(item.kind, item.name, item.path, item.embedded) for item in facts.components] == [
        ("plugin", "rms_norm", "", True),
        ("kernel", "norm", "norm.fatbin", False),
    ]


def test_an_engine_without_device_needs_runs_without_a_gpu():
    facts = engine_facts(onnx_document(), "engine.json")
    assert facts.runs_without_gpu
    assert facts.problems == facts.memory == ()
    assert facts.minimum_driver is None


def test_every_unreadable_field_is_named():
    changed = document(product=1, tensors=[{"name": "x"}])
    changed["files"]["a"] = 1
    del changed["task"]
    facts = engine_facts(changed, "e")
    named = [problem.where or problem.what for problem in facts.problems]
    for place in ("e, product", "e, tensors[0]", "e, files.a", "e"):
        assert place in named
    assert facts.files == {"engine.plan": FileDigest("0" * 64, 1000)}
    # Nobody knows what it needs.
    assert not facts.runs_without_gpu


def test_the_table_of_the_product_counts_too():
    facts = engine_facts(plan_document({"compute_capabilities": ["x"]}), "e")
    [problem] = facts.problems
    assert problem.where == "e, own, compute_capabilities[0]"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=6,
)


@settings(max_examples=80, deadline=2000)
@given(st.dictionaries(st.sampled_from([*document()]), JSON))
def test_fuzz_any_json_gives_facts(changed):
    assert engine_facts({**document(), **changed}, "engine.json").memory is not None


@settings(max_examples=80, deadline=2000)
@given(st.dictionaries(st.sampled_from([*document()["own"]]), JSON))
def test_fuzz_any_own_table_gives_facts(changed):
    whole = document()
    assert engine_facts({**whole, "own": {**whole["own"], **changed}}, "e").memory is not None

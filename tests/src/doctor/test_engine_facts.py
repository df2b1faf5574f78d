"""engine.json, read without trusting it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from enginewright.doctor.engine_facts import engine_facts
from enginewright.engines.manifest import Manifest
from enginewright.engines.optimization_profile import OptimizationProfile
from enginewright.engines.tensor import EngineTensor
from enginewright.hashing import FileDigest

MANIFEST = {
    "product": {"name": "tensorrt-rtx", "version": "1.7.1.116"},
    "cuda": "13.0",
    "minimum_driver": "580.65.06",
    "compute_capabilities": ["8.9", "12.0"],
    "plan": {"path": "engine.plan", "size": 1000},
    "files": {"engine.plan": {"sha256": "0" * 64, "size": 1000}},
    "tensors": [
        {"name": "ids", "mode": "input", "dtype": "int64", "shape": ["batch", "sequence"]},
        {"name": "logits", "mode": "output", "dtype": "float16", "shape": ["batch", 10]},
    ],
    "profiles": [
        {"axes": {"batch": [1, 1, 8], "sequence": [1, 128, 1024]}},
        {"axes": {"batch": [1, 1, 2], "sequence": [1, 1, 1]}},
    ],
}


def test_the_fields_of_a_manifest():
    facts = engine_facts(MANIFEST, "engine.json")
    assert (facts.product, str(facts.version)) == ("tensorrt-rtx", "1.7.1.116")
    assert [str(item) for item in facts.compute_capabilities] == ["8.9", "12.0"]
    assert facts.problems == ()


def test_memory_of_each_profile_is_plan_and_tensors_at_their_largest():
    first, second = engine_facts(MANIFEST, "engine.json").memory
    assert (first.plan, first.tensors, first.complete) == (1000, 8 * 1024 * 8 + 8 * 10 * 2, True)
    assert second.tensors == 2 * 1 * 8 + 2 * 10 * 2


def test_a_tensor_of_unknown_size_makes_the_sum_a_lower_bound():
    tensors = [*MANIFEST["tensors"], {"name": "x", "dtype": "int4", "shape": ["other"]}]
    first, _ = engine_facts({**MANIFEST, "tensors": tensors}, "engine.json").memory
    assert (first.tensors, first.complete) == (8 * 1024 * 8 + 160, False)


def test_the_manifest_that_this_project_writes_is_read_whole():
    plan = FileDigest("0" * 64, 1000)
    manifest = Manifest(
        name="n",
        task="text-generation",
        product="tensorrt-rtx",
        version="1.7.1.116",
        cuda="13.0",
        minimum_driver="580.65.06",
        plan=plan,
        files={"engine.plan": plan},
        tensors=(EngineTensor("ids", "input", "int64", ("batch", 4)),),
        profiles=(OptimizationProfile({"ids": ((1, 4), (2, 4), (8, 4))}, {"batch": (1, 2, 8)}),),
        compute_capabilities=("8.9",),
        weight_streaming=False,
        options={},
        libraries={},
        plugins=(),
        kernels=({"name": "norm", "path": "norm.fatbin"},),
        inputs=(),
        size_estimate=None,
        warnings=(),
        reproducibility="bit-identical",
    )
    facts = engine_facts(manifest.to_json(), "engine.json")
    assert facts.problems == ()
    assert (facts.product, str(facts.version), facts.cuda) == ("tensorrt-rtx", "1.7.1.116", "13.0")
    assert [(item.kind, item.path) for item in facts.components] == [("kernel", "norm.fatbin")]
    assert [(item.tensors, item.complete) for item in facts.memory] == [(8 * 8 * 4, True)]


def test_every_unreadable_field_is_named():
    facts = engine_facts({"product": 1, "compute_capabilities": ["x"], "files": {"a": 1}}, "e")
    named = " ".join(problem.what for problem in facts.problems)
    for field in ("product.name", "product.version", "minimum_driver", "compute_cap", "files.a"):
        assert field in named


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=6,
)


@settings(max_examples=80, deadline=2000)
@given(st.dictionaries(st.sampled_from([*MANIFEST, "plugins", "kernels", "device"]), JSON))
def test_fuzz_any_json_gives_facts(changed):
    assert engine_facts({**MANIFEST, **changed}, "engine.json").memory is not None

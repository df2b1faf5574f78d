"""Small graphs as text: what is found, what is left alone, and that the numbers stay."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper

from enginewright.errors import InputError
from enginewright.onnx_model.loading import to_proto, with_shapes
from enginewright.passes.replace import OPERATORS, ReplaceSubgraphs
from enginewright.passes.transformation import apply

HEADER = '<ir_version: 10, opset_import: ["" : 23]>\n'
# As torch's exporter writes transformers' norm where it does not fuse it.
WRITTEN_OUT = """
    wide = Cast <to = 1> (x)
    squares = Pow (wide, two)
    mean = ReduceMean <keepdims = 1> (squares, last)
    shifted = Add (mean, epsilon)
    root = Sqrt (shifted)
    inverse = Reciprocal (root)
    normed = Mul (wide, inverse)
    narrow = Cast <to = 10> (normed)
    y = Mul (weight, narrow)
"""
NORM_TYPES = "(float16[batch, 6, 32] x) => (float16[batch, 6, 32] y)"
CONSTANTS = {
    "two": np.array(2.0, np.float32),
    "last": np.array([-1]),
    "epsilon": np.array(1e-6, np.float32),
    "weight": np.linspace(0.5, 1.5, 32).astype(np.float16),
}


def model(signature, body, constants=None):
    text = f"{HEADER}g {signature} {{{body}}}"
    made = onnx.parser.parse_model(text)
    for name, array in (constants or {}).items():
        if f" {name}," in body or f"({name}," in body or f" {name})" in body:
            made.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.checker.check_model(made)
    return made


def run(made):
    random = np.random.default_rng(4)
    feeds = {}
    for value in made.graph.input:
        tensor = value.type.tensor_type
        shape = [axis.dim_value or 2 for axis in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feeds[value.name] = random.standard_normal(shape).astype(dtype)
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


def replace_subgraphs(made, plugins, mode, where):
    done = apply(ReplaceSubgraphs(tuple(plugins), mode), with_shapes(made), where)
    return to_proto(done.model, made), done.report


def operators(made):
    return [node.op_type for node in made.graph.node]


def assert_replaced(made, plugins, expected, *, tolerance=0.0):
    """Both modes find the same, give the same numbers, and pass the checker."""
    before = run(made)
    for mode in ("kernel", "inline"):
        copy = onnx.ModelProto()
        copy.CopyFrom(made)
        result, replaced = replace_subgraphs(copy, plugins, mode, "model.onnx")
        assert [(one.plugin, len(one.nodes)) for one in replaced] == expected
        onnx.checker.check_model(result, full_check=True)
        for old, new in zip(before, run(result), strict=True):
            np.testing.assert_allclose(
                new.astype(np.float64), old.astype(np.float64), rtol=tolerance, atol=tolerance
            )
        ours = [node for node in result.graph.node if node.domain == "enginewright"]
        functions = [function.name for function in result.functions]
        if mode == "kernel":
            assert len(ours) == sum(count for _, count in expected)
            assert functions == [plugin for plugin, _ in expected]
        else:
            assert ours == []
            assert functions == []
            assert all(opset.domain != "enginewright" for opset in result.opset_import)
    return result


def test_a_written_out_norm():
    result = assert_replaced(
        model(NORM_TYPES, WRITTEN_OUT, CONSTANTS), ["rms_norm"], [("rms_norm", 1)], tolerance=2e-3
    )
    assert operators(result) == ["RMSNormalization"]
    assert [tensor.name for tensor in result.graph.initializer] == ["weight"]
    (node,) = result.graph.node
    epsilon = {attribute.name: attribute for attribute in node.attribute}["epsilon"].f
    assert epsilon == pytest.approx(1e-6)


@pytest.mark.parametrize(
    "body",
    [
        """
        squares = Mul (x, x)
        mean = ReduceMean <keepdims = 1> (squares, last)
        shifted = Add (epsilon, mean)
        root = Sqrt (shifted)
        normed = Div (x, root)
        y = Mul (normed, weight)
        """,
        """
        squares = Pow (x, two)
        mean = ReduceMean (squares, last)
        shifted = Add (mean, epsilon)
        root = Sqrt (shifted)
        one = Constant <value = float {1}> ()
        inverse = Div (one, root)
        normed = Mul (inverse, x)
        y = Mul (normed, weight)
        """,
    ],
    ids=["square_and_quotient", "one_over_root"],
)
def test_other_spellings_of_a_norm(body):
    constants = {**CONSTANTS, "weight": CONSTANTS["weight"].astype(np.float32)}
    signature = "(float[batch, 6, 32] x) => (float[batch, 6, 32] y)"
    made = model(signature, body, constants)
    assert_replaced(made, ["rms_norm"], [("rms_norm", 1)], tolerance=1e-6)


@pytest.mark.parametrize(
    "changed",
    [
        WRITTEN_OUT.replace("Pow (wide, two)", "Pow (wide, epsilon)"),
        WRITTEN_OUT.replace("(squares, last)", "(squares, first)"),
        WRITTEN_OUT.replace("ReduceMean", "ReduceSum"),
        WRITTEN_OUT.replace("Mul (wide, inverse)", "Mul (squares, inverse)"),
    ],
    ids=["power", "axis", "sum", "other_value"],
)
def test_what_only_looks_like_a_norm_stays(changed):
    made = model(NORM_TYPES, changed, {**CONSTANTS, "first": np.array([1])})
    with pytest.raises(InputError, match="plugin `rms_norm` matches no subgraph"):
        replace_subgraphs(made, ["rms_norm"], "kernel", "model.onnx")


def test_a_norm_whose_inner_value_is_used_stays():
    signature = NORM_TYPES.replace("y)", "y, float[batch, 6, 1] root)")
    made = model(signature, WRITTEN_OUT, CONSTANTS)
    with pytest.raises(InputError, match="matches no subgraph"):
        replace_subgraphs(made, ["rms_norm"], "kernel", "model.onnx")


RESIDUAL = """
    hidden = Add (x, branch)
    y = RMSNormalization <axis = -1, epsilon = 1e-6> (hidden, weight)
    more = Mul (y, y)
    next = Add (hidden, more)
"""
RESIDUAL_TYPES = (
    "(float16[batch, 6, 32] x, float16[batch, 6, 32] branch)"
    " => (float16[batch, 6, 32] y, float16[batch, 6, 32] next)"
)


def test_an_addition_and_its_norm():
    made = model(RESIDUAL_TYPES, RESIDUAL, CONSTANTS)
    result = assert_replaced(made, ["add_rms_norm"], [("add_rms_norm", 1)])
    assert operators(result) == ["Add", "RMSNormalization", "Mul", "Add"]


def test_an_addition_that_broadcasts_is_no_residual():
    made = model(RESIDUAL_TYPES.replace("float16[batch, 6, 32] branch", "float16[32] branch"),
                 RESIDUAL, CONSTANTS)  # fmt: skip
    with pytest.raises(InputError, match="plugin `add_rms_norm` matches no subgraph"):
        replace_subgraphs(made, ["add_rms_norm"], "kernel", "model.onnx")


def test_the_plugin_that_covers_more_comes_first():
    body = RESIDUAL + "last_y = RMSNormalization <axis = -1, epsilon = 1e-6> (more, weight)\n"
    signature = RESIDUAL_TYPES.replace("next)", "next, float16[batch, 6, 32] last_y)")
    made = model(signature, body, CONSTANTS)
    assert_replaced(made, ["rms_norm", "add_rms_norm"], [("add_rms_norm", 1), ("rms_norm", 1)])


SWIGLU_TYPES = "(float16[batch, 48] a, float16[batch, 48] b) => (float16[batch, 48] y)"


@pytest.mark.parametrize(
    "body",
    [
        "share = Sigmoid (a)  silu = Mul (a, share)  y = Mul (silu, b)",
        "share = Sigmoid (a)  silu = Mul (share, a)  y = Mul (b, silu)",
    ],
    ids=["as_exported", "turned"],
)
def test_swiglu(body):
    assert_replaced(model(SWIGLU_TYPES, body), ["swiglu"], [("swiglu", 1)])


def test_a_sigmoid_of_something_else_is_no_silu():
    made = model(SWIGLU_TYPES, "share = Sigmoid (b)  silu = Mul (a, share)  y = Mul (silu, b)")
    # b * sigmoid(b) is there only as a * b * sigmoid(b), in another order.
    with pytest.raises(InputError, match="plugin `swiglu` matches no subgraph"):
        replace_subgraphs(made, ["swiglu"], "kernel", "model.onnx")


# Half layout as exported: angles twice, of a batch of one that is broadcast.
ROTARY = """
    twice = Concat <axis = -1> (angles, angles)
    cos = Cos (twice)
    sin = Sin (twice)
    cosines = Unsqueeze (cos, one)
    sines = Unsqueeze (sin, one)
    straight = Mul (x, cosines)
    low = Slice (x, zero, half, three, one)
    high = Slice (x, half, end, three, one)
    negative = Neg (high)
    turned = Concat <axis = -1> (negative, low)
    crossed = Mul (turned, sines)
    y = Add (straight, crossed)
"""
ROTARY_TYPES = (
    "(float[batch, 3, sequence, 16] x, float[1, sequence, 8] angles)"
    " => (float[batch, 3, sequence, 16] y)"
)
ROTARY_CONSTANTS = {
    "zero": np.array([0]),
    "one": np.array([1]),
    "three": np.array([3]),
    "half": np.array([8]),
    "end": np.array([2**63 - 1]),
}


def test_a_written_out_rotary_embedding():
    made = model(ROTARY_TYPES, ROTARY, ROTARY_CONSTANTS)
    result = assert_replaced(made, ["rotary"], [("rotary", 1)], tolerance=1e-6)
    assert operators(result).count("RotaryEmbedding") == 1
    assert not {"Slice", "Neg", "Add"}.intersection(operators(result))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Concat <axis = -1> (negative, low)", "Concat <axis = -1> (low, negative)"),
        ("Concat <axis = -1> (angles, angles)", "Concat <axis = -1> (angles, other)"),
        ("Slice (x, half, end", "Slice (x, half, almost"),
        ("crossed = Mul (turned, sines)", "crossed = Mul (turned, cosines)"),
    ],
)
def test_what_only_looks_like_a_rotation_stays(old, new):
    constants = {**ROTARY_CONSTANTS, "almost": np.array([-1])}
    signature = ROTARY_TYPES.replace("angles)", "angles, float[1, sequence, 8] other)")
    body = ROTARY.replace(old, new)
    made = onnx.parser.parse_model(f"{HEADER}g {signature} {{{body}}}")
    for name, array in constants.items():
        made.graph.initializer.append(numpy_helper.from_array(array, name))
    with pytest.raises(InputError, match="plugin `rotary` matches no subgraph"):
        replace_subgraphs(made, ["rotary"], "kernel", "model.onnx")


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turned", [0, 8])
def test_the_operator_of_opset_23(interleaved, turned):
    width = (turned or 16) // 2
    made = model(
        f"(float[batch, 3, 5, 16] x, float[batch, 5, {width}] c, float[batch, 5, {width}] s)"
        " => (float[batch, 3, 5, 16] y)",
        f"y = RotaryEmbedding <interleaved = {interleaved}, rotary_embedding_dim = {turned},"
        " num_heads = 3> (x, c, s)",
    )
    assert_replaced(made, ["rotary"], [("rotary", 1)])


def test_nodes_are_reported_by_name():
    _, replaced = replace_subgraphs(
        model(NORM_TYPES, WRITTEN_OUT, CONSTANTS), ["rms_norm"], "kernel", "model.onnx"
    )
    assert [one.to_json() for one in replaced] == [
        {"plugin": "rms_norm", "count": 1, "nodes": ["enginewright/rms_norm/y"]}
    ]


def test_all_that_match_nothing_are_named():
    made = model(SWIGLU_TYPES, "share = Sigmoid (a)  silu = Mul (a, share)  y = Mul (silu, b)")
    with pytest.raises(InputError) as caught:
        replace_subgraphs(made, ["swiglu", "rms_norm", "rotary"], "kernel", "model.onnx")
    assert [problem.what for problem in caught.value.problems] == [
        "plugin `rms_norm` matches no subgraph of the model",
        "plugin `rotary` matches no subgraph of the model",
    ]
    assert caught.value.problems[0].fix == "Remove `rms_norm` from `plugins`."


def test_unknown_plugins_and_modes():
    made = model(NORM_TYPES, WRITTEN_OUT, CONSTANTS)
    with pytest.raises(InputError) as caught:
        replace_subgraphs(made, ["layer_norm"], "fused", "model.onnx")
    assert [problem.what for problem in caught.value.problems] == ["unknown plugin", "unknown mode"]
    assert caught.value.problems[0].expected == f"one of {', '.join(OPERATORS)}"


def test_an_older_opset_is_refused():
    made = model(SWIGLU_TYPES, "share = Sigmoid (a)  silu = Mul (a, share)  y = Mul (silu, b)")
    made.opset_import[0].version = 21
    with pytest.raises(InputError, match="plugins need a newer opset"):
        replace_subgraphs(made, ["swiglu"], "kernel", "model.onnx")


def test_weights_in_another_file_are_not_opened():
    made = model(NORM_TYPES, WRITTEN_OUT, CONSTANTS)
    (weight,) = [tensor for tensor in made.graph.initializer if tensor.name == "weight"]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="nowhere.safetensors")
    result, _ = replace_subgraphs(made, ["rms_norm"], "kernel", "model.onnx")
    (kept,) = result.graph.initializer
    assert kept.external_data[0].value == "nowhere.safetensors"

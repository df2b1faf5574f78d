"""Each graph check on small textual models, sound and faulty."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from enginewright.checks.attribute_size import check_attribute_size
from enginewright.checks.constant_range import check_constant_range
from enginewright.checks.dynamic_axes import check_dynamic_axes
from enginewright.checks.external_data import check_external_data
from enginewright.checks.findings import Findings
from enginewright.checks.half_norms import check_half_norms
from enginewright.checks.int64_constants import check_int64_constants
from enginewright.checks.names import check_names
from enginewright.checks.shape_inputs import check_shape_inputs
from enginewright.checks.structure import check_shapes, check_structure
from enginewright.checks.weight_dtype import check_weight_dtype
from enginewright.onnx_model.reader import CheckedModel

HEADER = '<ir_version: 10, opset_import: ["" : 23, "mine" : 1]>\n'


def model(text: str) -> CheckedModel:
    return CheckedModel(onnx.parser.parse_model(HEADER + text), "model.onnx")


def whats(findings: Findings) -> list[str]:
    return [problem.what for problem in findings.problems]


SOUND = model("main (float[batch, 4] x) => (float[batch, 4] y) { y = Relu(x) }")


def test_sound_graph_has_no_findings() -> None:
    axes = {"x": {0: "batch"}, "y": {0: "batch"}}
    graph = SOUND.model.graph
    assert check_structure(SOUND) == Findings()
    assert check_shapes(SOUND) == Findings()
    assert check_dynamic_axes(graph, "m", axes) == Findings()
    assert check_dynamic_axes(graph, "m", ("batch",)) == Findings()
    assert check_names(graph, "m") == Findings()
    assert check_half_norms(SOUND) == Findings()
    assert check_shape_inputs(SOUND) == Findings()


# --- structure and shapes -----------------------------------------------------------------------


def test_an_invalid_graph() -> None:
    broken = model("main (float[2] x) => (float[2] y) { y = Relu(nowhere) }")
    assert whats(check_structure(broken)) == ["the graph is not valid ONNX"]
    assert "nowhere" in check_structure(broken).problems[0].actual


def test_contradicting_shapes() -> None:
    broken = model("main (float[2, 3] a, float[4, 5] b) => (float[2, 5] y) { y = MatMul(a, b) }")
    assert whats(check_shapes(broken)) == ["shapes or types contradict each other"]


def test_an_element_type_that_does_not_exist() -> None:
    proto = onnx.parser.parse_model(HEADER + "main (float[4] x) => (float[4] y) { y = Add(x, c) }")
    proto.graph.initializer.add(name="c", dims=[4], data_type=99, raw_data=bytes(16))
    checked = CheckedModel(proto, "m")
    findings = Findings.join([check_structure(checked), check_shapes(checked)])
    assert "Invalid tensor data type 99" in findings.problems[-1].actual


def test_a_value_without_rank() -> None:
    open_rank = model(
        "main (float[2, 3] x, int64[n] shape) => (float[k] y) "
        "{ r = Reshape(x, shape)  y = Relu(r) }"
    )
    findings = check_shapes(open_rank)
    assert whats(findings) == ["the type or rank of a value cannot be inferred"]
    assert findings.problems[0].actual == "`r`"


def test_a_custom_operator_without_body_is_a_warning_and_hides_what_follows() -> None:
    custom = model("main (float[2] x) => (float[2] y) { a = mine.Op(x)  b = Relu(a)  y = Abs(b) }")
    findings = check_shapes(custom)
    assert findings.problems == ()
    assert len(findings.warnings) == 1
    assert "domain `mine`" in findings.warnings[0]


FUNCTION_MODEL = model(
    """main (float16[batch, 8] x) => (float16[batch, 8] y) { y = mine.Norm(x) }
    <domain: "mine", opset_import: ["" : 23]>
    Norm (x) => (y) {
        two = Constant <value = float16 {16384}> ()
        square = Pow(x, two)
        axes = Constant <value_ints = [-1]> ()
        mean = ReduceMean(square, axes)
        root = Sqrt(mean)
        y = Div(x, root)
    }"""
)


def test_model_local_functions_are_looked_into() -> None:
    assert check_structure(FUNCTION_MODEL) == Findings()
    assert check_shapes(FUNCTION_MODEL) == Findings()
    assert whats(check_half_norms(FUNCTION_MODEL)) == ["a norm overflows in float16"]


def test_opset_23_operators_pass() -> None:
    decoder = model(
        """main (float16[batch, 4, sequence, 16] q, float16[batch, 2, sequence, 16] k,
                 float16[16] scale, int64[batch, sequence] positions,
                 float16[64, 8] cos, float16[64, 8] sin)
           => (float16[batch, 4, sequence, 16] y) {
            n = RMSNormalization <axis = -1, stash_type = 1> (q, scale)
            r = RotaryEmbedding(n, cos, sin, positions)
            y = Attention <is_causal = 1> (r, k, k)
        }"""
    )
    assert check_structure(decoder) == Findings()
    assert check_shapes(decoder) == Findings()
    assert check_half_norms(decoder) == Findings()


# --- dynamic axes -------------------------------------------------------------------------------


def test_a_declared_axis_that_was_fixed_to_one() -> None:
    """Public report: an example of size 1 made the batch a constant."""
    graph = model("main (float[1, n] x) => (float[1, n] y) { y = Relu(x) }").model.graph
    declared = {"x": {0: "batch", 1: "n"}, "y": {0: "batch", 1: "n"}}
    findings = check_dynamic_axes(graph, "m", declared)
    assert [(p.where, p.expected, p.actual) for p in findings.problems] == [
        ("m, tensor `x`, dimension 0", "`batch`", "fixed to 1"),
        ("m, tensor `y`, dimension 0", "`batch`", "fixed to 1"),
    ]
    by_name = check_dynamic_axes(graph, "m", ("batch", "n"))
    assert [(p.expected, p.actual) for p in by_name.problems] == [
        ("an input with a dimension `batch`", "`x` [1, n]")
    ]


def test_other_differences_of_axes() -> None:
    graph = model("main (float[s0, k] x) => (float[?, k] y) { y = Relu(x) }").model.graph
    declared = {"x": {0: "batch", 5: "far"}, "y": {0: "batch", 1: "k"}, "z": {0: "batch"}}
    assert whats(check_dynamic_axes(graph, "m", declared)) == [
        "a dimension has neither size nor name",
        "dynamic axes are declared for a tensor that the graph does not have",
        "a dynamic axis is declared beyond the rank of the tensor",
        "a dynamic axis has another name than declared",
        "an axis is dynamic that is not declared so",
    ]


# --- names --------------------------------------------------------------------------------------


def test_duplicate_and_unused_inputs() -> None:
    graph = model(
        "main (float[2] x, float[2] x, float[2] idle) => (float[2] y, float[2] y) { y = Relu(x) }"
    ).model.graph
    findings = check_names(graph, "m")
    assert [(p.what, p.where) for p in findings.problems] == [
        ("an input occurs more than once", "m, tensor `x`"),
        ("an output occurs more than once", "m, tensor `y`"),
        ("an input is not used by any node", "m, input `idle`"),
    ]


def test_an_input_whose_values_nobody_reads_is_a_warning() -> None:
    graph = model("main (float[n] x) => (int64[1] y) { y = Shape(x) }").model.graph
    assert check_names(graph, "m").warnings == (
        "m: only the shape of input `x` is used, not its values",
    )


def test_inputs_used_in_a_branch_are_used() -> None:
    graph = model(
        "main (bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = "
        "a () => (float[2] p) { p = Relu(x) }, else_branch = b () => (float[2] q) { q = Abs(x) }> }"
    ).model.graph
    assert check_names(graph, "m") == Findings()


# --- norms in half precision --------------------------------------------------------------------

NORM = """main ({dtype}[n, 8] x) => ({dtype}[n, 1] y) {{
    {square}
    axes = Constant <value_ints = [-1]> ()
    mean = ReduceMean(square, axes)
    y = Sqrt(mean)
}}"""


@pytest.mark.parametrize(
    ("dtype", "square", "faults"),
    [
        ("float16", "two = Constant <value = float16 {16384}> () square = Pow(x, two)", 1),
        ("float16", "square = Mul(x, x)", 1),
        ("float16", "square = Abs(x)", 0),
        ("float", "square = Mul(x, x)", 0),
        ("bfloat16", "square = Mul(x, x)", 0),
    ],
)
def test_squares_in_half_precision(dtype: str, square: str, faults: int) -> None:
    findings = check_half_norms(model(NORM.format(dtype=dtype, square=square)))
    assert len(findings.problems) == faults


def test_a_norm_that_is_cast_to_float32_passes() -> None:
    cast = model(
        "main (float16[n, 8] x) => (float[n, 1] y) { f = Cast <to = 1> (x)  s = Mul(f, f) "
        "axes = Constant <value_ints = [-1]> ()  m = ReduceMean(s, axes)  y = Sqrt(m) }"
    )
    assert check_half_norms(cast) == Findings()


@pytest.mark.parametrize(
    "node",
    ["LayerNormalization <stash_type = 10> (x, w)", "RMSNormalization <stash_type = 10> (x, w)"],
)
def test_native_norms_must_compute_in_float32(node: str) -> None:
    checked = model(f"main (float16[n, 8] x, float16[8] w) => (float16[n, 8] y) {{ y = {node} }}")
    findings = check_half_norms(checked)
    assert [(p.expected, p.actual) for p in findings.problems] == [("`stash_type` 1", "10")]


def test_sums_of_squares_in_half_precision() -> None:
    checked = model("main (float16[n, 8] x) => (float16[k, m] y) { y = ReduceL2(x) }")
    assert whats(check_half_norms(checked)) == ["a norm overflows in float16"]


# --- constants ----------------------------------------------------------------------------------


def add_constant(text: str, name: str, value: np.ndarray) -> CheckedModel:
    proto = onnx.parser.parse_model(HEADER + text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    return CheckedModel(proto, "model.onnx")


ADD = "main (float16[n] x) => (float16[n] y) { y = Add(x, c) }"
ADD_CAST = "main (float16[n] x) => (float16[n] y) { h = Cast <to = 10> (c)  y = Add(x, h) }"
ADD_FLOAT = "main (float[n] x) => (float[n] y) { y = Add(x, c) }"


@pytest.mark.parametrize(
    ("text", "value", "problems", "warnings"),
    [
        pytest.param(ADD, np.float16(-30000), [], 0, id="finite"),
        pytest.param(ADD, np.float16(-65504), [], 1, id="least-half"),
        pytest.param(
            ADD, np.float16(-np.inf), ["a constant is beyond the range of float16"], 0, id="inf"
        ),
        pytest.param(ADD, np.float16(np.nan), ["a constant is NaN"], 0, id="nan"),
        pytest.param(
            ADD_CAST,
            np.float32(-3.4e38),
            ["a constant is beyond the range of float16"],
            0,
            id="cast-to-half",
        ),
        pytest.param(ADD_FLOAT, np.float32(-3.4e38), [], 0, id="float32"),
        pytest.param(ADD_FLOAT, np.float32(-np.inf), [], 1, id="float32-inf"),
        pytest.param(ADD_FLOAT, np.float32(np.nan), ["a constant is NaN"], 0, id="float32-nan"),
    ],
)
def test_range_of_constants(
    text: str, value: np.generic, problems: list[str], warnings: int
) -> None:
    findings = check_constant_range(add_constant(text, "c", np.asarray(value)))
    assert whats(findings) == problems
    assert len(findings.warnings) == warnings


def test_the_least_half_plus_a_score_is_what_the_warning_says() -> None:
    with np.errstate(over="ignore"):
        assert np.float16(-65504) + np.float16(-16) == -np.inf


def test_constant_nodes_are_read_too() -> None:
    checked = model(
        "main (float16[n] x) => (float16[n] y) { c = Constant <value_float = 1e9> () "
        "h = Cast <to = 10> (c)  y = Add(x, h) }"
    )
    assert whats(check_constant_range(checked)) == ["a constant is beyond the range of float16"]


def test_huge_int64_constants() -> None:
    """INT64_MAX as the end of a slice means "to the end"; elsewhere it is a fault."""
    end = np.asarray([2**63 - 1], np.int64)
    sliced = (
        "main (float[n] x) => (float[k] y) "
        "{ s = Constant <value_ints = [0]> ()  y = Slice(x, s, c) }"
    )
    through = (
        "main (float[n, m] x) => (float[k, l] y) { s = Constant <value_ints = [0, 0]> () "
        "e = Concat <axis = 0> (c, c)  y = Slice(x, s, e) }"
    )
    added = "main (int64[n] x) => (int64[n] y) { y = Add(x, c) }"
    assert check_int64_constants(add_constant(sliced, "c", end)) == Findings()
    assert check_int64_constants(add_constant(through, "c", end)) == Findings()
    findings = check_int64_constants(add_constant(added, "c", end))
    assert whats(findings) == ["a 64-bit constant does not fit into 32 bits"]
    assert findings.problems[0].actual == "9223372036854775807"
    small = np.asarray([-(2**31)], np.int64)
    assert check_int64_constants(add_constant(added, "c", small)) == Findings()


def test_large_tensors_in_attributes() -> None:
    proto = onnx.parser.parse_model(HEADER + ADD_FLOAT)
    tensor = onnx.numpy_helper.from_array(np.zeros(300_000, np.float32))
    proto.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["c"], value=tensor))
    checked = CheckedModel(proto, "m")
    findings = check_attribute_size(checked)
    assert findings.problems == ()
    assert len(findings.warnings) == 1
    assert "holds 12000" in findings.warnings[0]
    limited = check_attribute_size(checked, limit=2_000_000)
    assert whats(limited) == ["tensors in attributes fill the graph file"]


def test_weights_of_another_dtype() -> None:
    checked = add_constant(ADD, "c", np.zeros(4, np.float16))
    assert check_weight_dtype(checked.model, "m", "float16") == Findings()
    findings = check_weight_dtype(checked.model, "m", "float32")
    assert [(p.expected, p.actual) for p in findings.problems] == [
        ("float32", "float16: 4 elements")
    ]


def test_inputs_that_decide_shapes() -> None:
    """Public report: a shape tensor needs values in its profile, where users gave dims."""
    checked = model(
        "main (float[n] x, int64[1] end) => (float[k] y) "
        "{ s = Constant <value_ints = [0]> ()  e = Cast <to = 7> (end)  y = Slice(x, s, e) }"
    )
    findings = check_shape_inputs(checked)
    assert len(findings.warnings) == 1
    assert "input `end`" in findings.warnings[0]


# --- external data ------------------------------------------------------------------------------


def external(name: str, size: int, **entries: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(
        name=name,
        data_type=onnx.TensorProto.FLOAT,
        dims=[size],
        data_location=onnx.TensorProto.EXTERNAL,
    )
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def with_external(*tensors: onnx.TensorProto) -> onnx.ModelProto:
    proto = onnx.parser.parse_model(HEADER + "main (float[2] x) => (float[2] y) { y = Relu(x) }")
    proto.graph.initializer.extend(tensors)
    return proto


def test_external_data_inside_its_file() -> None:
    proto = with_external(
        external("a", 2, location="d", offset="8", length="8"),
        external("b", 2, location="d"),
        external("tied", 2, location="d", offset="8"),
    )
    assert check_external_data(proto, "m", {"d": 16}) == Findings()
    assert (
        whats(check_external_data(proto, "m", {"d": 15}))
        == ["external data ends before the tensor does"] * 2
    )
    assert whats(check_external_data(proto, "m", {"e": 16})) == [
        "a file of external data is missing"
    ]


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ({"location": "../d"}, "external data must lie beside or below the graph file"),
        ({"location": "/d"}, "external data must lie beside or below the graph file"),
        ({"location": "a\\..\\d"}, "external data must lie beside or below the graph file"),
        ({}, "external data must lie beside or below the graph file"),
        ({"location": "d", "offset": "-4"}, "offset or length is no size in bytes"),
        ({"location": "d", "offset": "x"}, "offset or length is no size in bytes"),
        ({"location": "d", "length": "9"}, "the length of external data does not match"),
    ],
)
def test_faulty_references(entries: dict[str, str], what: str) -> None:
    findings = check_external_data(with_external(external("a", 2, **entries)), "m")
    assert len(findings.problems) == 1
    assert findings.problems[0].what.startswith(what)


def test_overlapping_tensors() -> None:
    proto = with_external(
        external("a", 4, location="d"),
        external("b", 4, location="d", offset="12"),
        external("c", 1, location="d", offset="4"),
        external("other", 4, location="e", offset="12"),
    )
    findings = check_external_data(proto, "m")
    assert [(p.what, p.where) for p in findings.problems] == [
        ("external tensors overlap", "m, tensor `c`"),
        ("external tensors overlap", "m, tensor `b`"),
    ]

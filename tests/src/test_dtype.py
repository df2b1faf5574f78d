import numpy as np
import onnxruntime
from ml_dtypes import finfo, iinfo
from onnx import TensorProto, helper
from safetensors.numpy import save

from enginewright.dtype import BY_NAME, BY_ONNXRUNTIME, BY_SAFETENSORS, DTYPES

NOT_NUMBERS = {"UNDEFINED", "STRING"}


def test_onnx_has_these_types_and_no_others_by_these_names() -> None:
    assert {row.onnx for row in DTYPES} == {*TensorProto.DataType.keys()} - NOT_NUMBERS
    for row in DTYPES:
        number = TensorProto.DataType.Value(row.onnx)
        assert np.dtype(helper.tensor_dtype_to_np_dtype(number)).name == row.name


def test_bits_are_those_of_numpy_and_ml_dtypes() -> None:
    for row in DTYPES:
        assert np.dtype(row.name).itemsize == -(-row.bits // 8)
    assert [finfo(name).bits for name in ("bfloat16", "float4_e2m1fn", "float6_e2m3fn")] == [
        16,
        4,
        6,
    ]
    assert [iinfo(name).bits for name in ("int2", "uint4", "int4")] == [2, 4, 4]
    packed = ("bfloat16", "float4_e2m1fn", "float6_e2m3fn", "int2", "uint4", "int4")
    assert [BY_NAME[name].bits for name in packed] == [16, 4, 6, 2, 4, 4]


def test_safetensors_writes_these_names() -> None:
    for code in ("BOOL", "U8", "I8", "I16", "U16", "F16", "I32", "U32", "F32", "F64", "I64", "U64"):
        name = BY_SAFETENSORS[code].name
        assert f'"dtype":"{code}"'.encode() in save({"t": np.zeros(1, name)})


def test_onnxruntime_says_these_names() -> None:
    for number in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL, TensorProto.FLOAT16):
        value = helper.make_tensor_value_info("x", number, [1])
        other = helper.make_tensor_value_info("y", number, [1])
        graph = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["y"])], "g", [value], [other]
        )
        opset = [helper.make_opsetid("", 21)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=10)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        said = session.get_inputs()[0].type
        assert BY_ONNXRUNTIME[said].onnx == TensorProto.DataType.Name(number)

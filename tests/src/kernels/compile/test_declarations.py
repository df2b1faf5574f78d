from enginewright.kernels.compile.declarations import Parameter, kernel_declarations

SOURCE = """
// extern "C" __global__ void commented_out(int x) {}
extern "C" __global__ void __launch_bounds__(1024)
    norm_f16(const Float16* x, Float16 *y, int64_t rows, float epsilon) {
}
extern "C" __global__ void plain(enginewright::BFloat16* __restrict__ x, uint64_t seed) {}
extern "C" __global__ void nothing() {}
__global__ void mangled(int x) {}
extern "C" __global__ void unreadable(SomeStruct value) {}
"""


def test_declarations_of_kernels():
    assert kernel_declarations(SOURCE) == {
        "norm_f16": (
            Parameter("x", "pointer", "float16"),
            Parameter("y", "pointer", "float16", writable=True),
            Parameter("rows", "int64"),
            Parameter("epsilon", "float32"),
        ),
        "plain": (
            Parameter("x", "pointer", "bfloat16", writable=True),
            Parameter("seed", "uint64"),
        ),
        "nothing": (),
    }


def test_json_of_parameters():
    assert Parameter("rows", "int64").to_json() == {"name": "rows", "type": "int64"}
    assert Parameter("x", "pointer", "float16").to_json() == {
        "name": "x",
        "type": "pointer",
        "element": "float16",
        "writable": False,
    }

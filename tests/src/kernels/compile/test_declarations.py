from enginewright.kernels.compile.declarations import kernel_declarations
from enginewright.kernels.descriptor import Pointer, Value

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
            Pointer("x", "float16", writable=False),
            Pointer("y", "float16", writable=True),
            Value("rows", "int64"),
            Value("epsilon", "float32"),
        ),
        "plain": (
            Pointer("x", "bfloat16", writable=True),
            Value("seed", "uint64"),
        ),
        "nothing": (),
    }

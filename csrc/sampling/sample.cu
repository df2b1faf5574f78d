// Tensors: logits [rows, columns] with the given row stride in elements and contiguous columns;
// tokens int64 [rows]. Any pointer alignment of an element, any one-dimensional grid; a block of
// `BlockRowGroup` with one row. The draw depends on blockDim.x, which fixes the order of the
// cumulative sum: keep it, to keep the tokens.
#include "common/group.cuh"
#include "sampling/sample.cuh"

namespace enginewright {

template <class T>
__device__ void sample(const T* logits, int64_t* tokens, int64_t rows, int64_t columns,
                       int64_t stride, SamplingSettings settings) {
  __shared__ uint64_t scratch[2][BlockRowGroup::kMaxWarps];
  __shared__ Candidates list;
  BlockRowGroup group(scratch);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t token =
        sample_row(group, &list, logits + row * stride, columns, row, settings);
    if (threadIdx.x == 0) tokens[row] = token;
  }
}

}  // namespace enginewright

using enginewright::BFloat16;
using enginewright::Float16;

extern "C" __global__ void __launch_bounds__(1024)
    sample_f16(const Float16* logits, int64_t* tokens, int64_t rows, int64_t columns,
        int64_t stride, float temperature, int64_t top_k, float top_p, uint64_t seed,
        uint64_t step) {
  enginewright::sample(logits, tokens, rows, columns, stride,
                       {temperature, top_k, top_p, seed, step});
}

extern "C" __global__ void __launch_bounds__(1024)
    sample_bf16(const BFloat16* logits, int64_t* tokens, int64_t rows, int64_t columns,
        int64_t stride, float temperature, int64_t top_k, float top_p, uint64_t seed,
        uint64_t step) {
  enginewright::sample(logits, tokens, rows, columns, stride,
                       {temperature, top_k, top_p, seed, step});
}

extern "C" __global__ void __launch_bounds__(1024)
    sample_f32(const float* logits, int64_t* tokens, int64_t rows, int64_t columns,
        int64_t stride, float temperature, int64_t top_k, float top_p, uint64_t seed,
        uint64_t step) {
  enginewright::sample(logits, tokens, rows, columns, stride,
                       {temperature, top_k, top_p, seed, step});
}

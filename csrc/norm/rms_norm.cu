// Tensors: x and y [rows, columns] with the given row strides in elements and contiguous columns,
// weight [columns]. y may be x. Any pointer alignment of an element, any row count; a block shape
// of `BlockRowGroup`, any one-dimensional grid.
#include "common/group.cuh"
#include "norm/rms_norm.cuh"

namespace enginewright {

template <class T>
__device__ void rms_norm(const T* x, const T* weight, T* y, int64_t rows, int64_t columns,
                         int64_t x_stride, int64_t y_stride, float epsilon) {
  __shared__ uint64_t scratch[2][BlockRowGroup::kMaxWarps];
  BlockRowGroup group(scratch);
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < rows; first += step) {
    // A row beyond the end has no columns: its threads only keep the others company.
    const int64_t row = first + threadIdx.y;
    const bool exists = row < rows;
    rms_norm_row<T, 4>(group, exists ? x + row * x_stride : x, weight,
                       exists ? y + row * y_stride : y, exists ? columns : 0, epsilon);
  }
}

}  // namespace enginewright

using enginewright::BFloat16;
using enginewright::Float16;

extern "C" __global__ void __launch_bounds__(1024)
    rms_norm_f16(const Float16* x, const Float16* weight, Float16* y, int64_t rows,
                 int64_t columns, int64_t x_stride, int64_t y_stride, float epsilon) {
  enginewright::rms_norm(x, weight, y, rows, columns, x_stride, y_stride, epsilon);
}

extern "C" __global__ void __launch_bounds__(1024)
    rms_norm_bf16(const BFloat16* x, const BFloat16* weight, BFloat16* y, int64_t rows,
                  int64_t columns, int64_t x_stride, int64_t y_stride, float epsilon) {
  enginewright::rms_norm(x, weight, y, rows, columns, x_stride, y_stride, epsilon);
}

extern "C" __global__ void __launch_bounds__(1024)
    rms_norm_f32(const float* x, const float* weight, float* y, int64_t rows,
                  int64_t columns, int64_t x_stride, int64_t y_stride, float epsilon) {
  enginewright::rms_norm(x, weight, y, rows, columns, x_stride, y_stride, epsilon);
}

// Tensors: x, residual, sum and y [rows, columns] with the given row strides in elements and
// contiguous columns, weight [columns]. sum may be x or residual, y may be x; sum and y are apart.
// Any pointer alignment of an element, any row count; a block shape of `BlockRowGroup`, any
// one-dimensional grid.
#include "common/group.cuh"
#include "norm/add_rms_norm.cuh"

namespace enginewright {

template <class T>
__device__ void add_rms_norm(const T* x, const T* residual, const T* weight, T* sum, T* y,
                             int64_t rows, int64_t columns, int64_t x_stride,
                             int64_t residual_stride, int64_t sum_stride, int64_t y_stride,
                             float epsilon) {
  __shared__ uint64_t scratch[2][BlockRowGroup::kMaxWarps];
  BlockRowGroup group(scratch);
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < rows; first += step) {
    const int64_t row = first + threadIdx.y;
    const int64_t at = row < rows ? row : 0;
    add_rms_norm_row<T, 2>(group, x + at * x_stride, residual + at * residual_stride, weight,
                           sum + at * sum_stride, y + at * y_stride, row < rows ? columns : 0,
                           epsilon);
  }
}

}  // namespace enginewright

using enginewright::BFloat16;
using enginewright::Float16;

extern "C" __global__ void __launch_bounds__(1024)
    add_rms_norm_f16(const Float16* x, const Float16* residual, const Float16* weight,
                     Float16* sum, Float16* y, int64_t rows, int64_t columns, int64_t x_stride,
                     int64_t residual_stride, int64_t sum_stride, int64_t y_stride,
                     float epsilon) {
  enginewright::add_rms_norm(x, residual, weight, sum, y, rows, columns, x_stride,
                             residual_stride, sum_stride, y_stride, epsilon);
}

extern "C" __global__ void __launch_bounds__(1024)
    add_rms_norm_bf16(const BFloat16* x, const BFloat16* residual, const BFloat16* weight,
                      BFloat16* sum, BFloat16* y, int64_t rows, int64_t columns,
                      int64_t x_stride, int64_t residual_stride, int64_t sum_stride,
                      int64_t y_stride, float epsilon) {
  enginewright::add_rms_norm(x, residual, weight, sum, y, rows, columns, x_stride,
                             residual_stride, sum_stride, y_stride, epsilon);
}

extern "C" __global__ void __launch_bounds__(1024)
    add_rms_norm_f32(const float* x, const float* residual, const float* weight,
                      float* sum, float* y, int64_t rows, int64_t columns,
                      int64_t x_stride, int64_t residual_stride, int64_t sum_stride,
                      int64_t y_stride, float epsilon) {
  enginewright::add_rms_norm(x, residual, weight, sum, y, rows, columns, x_stride,
                             residual_stride, sum_stride, y_stride, epsilon);
}

// Tensors: gate, up and y [rows, columns] with the given row strides in elements and contiguous
// columns. y may be gate or up. Any pointer alignment of an element; any one-dimensional block and
// grid.
#include "activation/swiglu.cuh"

namespace enginewright {

struct BlockThreads {
  __device__ int rank() const { return threadIdx.x; }
  __device__ int size() const { return blockDim.x; }
};

template <class T>
__device__ void swiglu(const T* gate, const T* up, T* y, int64_t rows, int64_t columns,
                       int64_t gate_stride, int64_t up_stride, int64_t y_stride) {
  constexpr int kHeld = 2;
  if (gate_stride == columns && up_stride == columns && y_stride == columns) {
    columns *= rows;  // without gaps between rows it is one long row
    rows = 1;
  }
  const int64_t parts = swiglu_parts(columns, blockDim.x, kHeld);
  for (int64_t index = blockIdx.x; index < rows * parts; index += gridDim.x) {
    const int64_t row = rows == 1 ? 0 : divide(index, parts);
    swiglu_part<T, kHeld>(BlockThreads{}, gate + row * gate_stride, up + row * up_stride,
                          y + row * y_stride, columns, index - row * parts, parts);
  }
}

}  // namespace enginewright

using enginewright::BFloat16;
using enginewright::Float16;

extern "C" __global__ void __launch_bounds__(1024)
    swiglu_f16(const Float16* gate, const Float16* up, Float16* y, int64_t rows,
               int64_t columns, int64_t gate_stride, int64_t up_stride, int64_t y_stride) {
  enginewright::swiglu(gate, up, y, rows, columns, gate_stride, up_stride, y_stride);
}

extern "C" __global__ void __launch_bounds__(1024)
    swiglu_bf16(const BFloat16* gate, const BFloat16* up, BFloat16* y, int64_t rows,
                int64_t columns, int64_t gate_stride, int64_t up_stride, int64_t y_stride) {
  enginewright::swiglu(gate, up, y, rows, columns, gate_stride, up_stride, y_stride);
}

extern "C" __global__ void __launch_bounds__(1024)
    swiglu_f32(const float* gate, const float* up, float* y, int64_t rows,
                int64_t columns, int64_t gate_stride, int64_t up_stride, int64_t y_stride) {
  enginewright::swiglu(gate, up, y, rows, columns, gate_stride, up_stride, y_stride);
}

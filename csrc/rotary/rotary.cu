// Tensors: x and y [batch, sequence, heads, dimension] with the given strides in elements and
// contiguous dimensions; cosine and sine [table rows, rotary / 2], contiguous; positions
// [batch, sequence], contiguous, each a row of the table, or null where the position is the index
// in the sequence. rotary is even and at most dimension. y may be x: then only the first `rotary`
// elements of a head are read and written. Any pointer alignment of an element; any block of at most
// 320 threads (x: columns, y: heads, z: tokens) and any one-dimensional grid.
#include "rotary/rotary.cuh"

namespace enginewright {

// At most 96 registers a thread: room for four heads of it, and for 20 warps on a multiprocessor.
// One register more would leave room for 16.
constexpr int kRotaryThreads = 320;
constexpr int kRotaryBlocks = 2;

// `per_item`: the tables are [batch, sequence, rotary / 2], a row for each token.
template <bool kInterleaved, class T, class A>
__device__ void rotary(const T* x, T* y, const A* cosine, const A* sine,
                       const int64_t* positions, bool per_item, int64_t batch, int64_t sequence,
                       int64_t heads, int64_t dimension, int64_t rotary_dimension,
                       int64_t x_batch_stride,
                       int64_t x_sequence_stride, int64_t x_head_stride, int64_t y_batch_stride,
                       int64_t y_sequence_stride, int64_t y_head_stride) {
  const int64_t step = int64_t{gridDim.x} * blockDim.z;
  for (int64_t token = int64_t{blockIdx.x} * blockDim.z + threadIdx.z;
       token < batch * sequence; token += step) {
    const auto [item, index] = token_place(token, batch, sequence);
    const int64_t place = item * sequence + index;
    const Angles<A> angles{cosine, sine, positions ? positions + place : nullptr,
                           per_item ? place : index, rotary_dimension / 2};
    rotary_token<T, kInterleaved>(threadIdx.x, blockDim.x,
                                  HeadRange{threadIdx.y, heads, blockDim.y},
                                  x + item * x_batch_stride + index * x_sequence_stride,
                                  y + item * y_batch_stride + index * y_sequence_stride, angles,
                                  dimension, x_head_stride, y_head_stride);
  }
}

}  // namespace enginewright

using enginewright::BFloat16;
using enginewright::Float16;

extern "C" __global__ void __launch_bounds__(enginewright::kRotaryThreads,
                                             enginewright::kRotaryBlocks)
    rotary_half_f16(const Float16* x, Float16* y, const float* cosine, const float* sine,
        const int64_t* positions, int64_t batch, int64_t sequence, int64_t heads,
        int64_t dimension, int64_t rotary, int64_t x_batch_stride, int64_t x_sequence_stride,
        int64_t x_head_stride, int64_t y_batch_stride, int64_t y_sequence_stride,
        int64_t y_head_stride) {
  enginewright::rotary<false>(x, y, cosine, sine, positions, false, batch, sequence, heads,
                               dimension, rotary, x_batch_stride, x_sequence_stride, x_head_stride,
                               y_batch_stride, y_sequence_stride, y_head_stride);
}

extern "C" __global__ void __launch_bounds__(enginewright::kRotaryThreads,
                                             enginewright::kRotaryBlocks)
    rotary_half_bf16(const BFloat16* x, BFloat16* y, const float* cosine, const float* sine,
        const int64_t* positions, int64_t batch, int64_t sequence, int64_t heads,
        int64_t dimension, int64_t rotary, int64_t x_batch_stride, int64_t x_sequence_stride,
        int64_t x_head_stride, int64_t y_batch_stride, int64_t y_sequence_stride,
        int64_t y_head_stride) {
  enginewright::rotary<false>(x, y, cosine, sine, positions, false, batch, sequence, heads,
                               dimension, rotary, x_batch_stride, x_sequence_stride, x_head_stride,
                               y_batch_stride, y_sequence_stride, y_head_stride);
}

extern "C" __global__ void __launch_bounds__(enginewright::kRotaryThreads,
                                             enginewright::kRotaryBlocks)
    rotary_half_f32(const float* x, float* y, const float* cosine, const float* sine,
        const int64_t* positions, int64_t batch, int64_t sequence, int64_t heads,
        int64_t dimension, int64_t rotary, int64_t x_batch_stride, int64_t x_sequence_stride,
        int64_t x_head_stride, int64_t y_batch_stride, int64_t y_sequence_stride,
        int64_t y_head_stride) {
  enginewright::rotary<false>(x, y, cosine, sine, positions, false, batch, sequence, heads,
                               dimension, rotary, x_batch_stride, x_sequence_stride, x_head_stride,
                               y_batch_stride, y_sequence_stride, y_head_stride);
}

extern "C" __global__ void __launch_bounds__(enginewright::kRotaryThreads,
                                             enginewright::kRotaryBlocks)
    rotary_interleaved_f16(const Float16* x, Float16* y, const float* cosine, const float* sine,
        const int64_t* positions, int64_t batch, int64_t sequence, int64_t heads,
        int64_t dimension, int64_t rotary, int64_t x_batch_stride, int64_t x_sequence_stride,
        int64_t x_head_stride, int64_t y_batch_stride, int64_t y_sequence_stride,
        int64_t y_head_stride) {
  enginewright::rotary<true>(x, y, cosine, sine, positions, false, batch, sequence, heads,
                               dimension, rotary, x_batch_stride, x_sequence_stride, x_head_stride,
                               y_batch_stride, y_sequence_stride, y_head_stride);
}

extern "C" __global__ void __launch_bounds__(enginewright::kRotaryThreads,
                                             enginewright::kRotaryBlocks)
    rotary_interleaved_bf16(const BFloat16* x, BFloat16* y, const float* cosine, const float* sine,
        const int64_t* positions, int64_t batch, int64_t sequence, int64_t heads,
        int64_t dimension, int64_t rotary, int64_t x_batch_stride, int64_t x_sequence_stride,
        int64_t x_head_stride, int64_t y_batch_stride, int64_t y_sequence_stride,
        int64_t y_head_stride) {
  enginewright::rotary<true>(x, y, cosine, sine, positions, false, batch, sequence, heads,
                               dimension, rotary, x_batch_stride, x_sequence_stride, x_head_stride,
                               y_batch_stride, y_sequence_stride, y_head_stride);
}

extern "C" __global__ void __launch_bounds__(enginewright::kRotaryThreads,
                                             enginewright::kRotaryBlocks)
    rotary_interleaved_f32(const float* x, float* y, const float* cosine, const float* sine,
        const int64_t* positions, int64_t batch, int64_t sequence, int64_t heads,
        int64_t dimension, int64_t rotary, int64_t x_batch_stride, int64_t x_sequence_stride,
        int64_t x_head_stride, int64_t y_batch_stride, int64_t y_sequence_stride,
        int64_t y_head_stride) {
  enginewright::rotary<true>(x, y, cosine, sine, positions, false, batch, sequence, heads,
                               dimension, rotary, x_batch_stride, x_sequence_stride, x_head_stride,
                               y_batch_stride, y_sequence_stride, y_head_stride);
}

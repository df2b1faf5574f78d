// The operators on contiguous tensors: on a device by the kernels, on the CPU by the same arithmetic in
// one thread. What the libraries for torch and ONNX Runtime have in common.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "activation/swiglu.cu"
#include "common/lone_group.h"
#include "norm/add_rms_norm.cu"
#include "norm/rms_norm.cu"
#include "operators/launch_shape.h"
#include "pooling/mean_pool.cu"
#include "rotary/rotary.cu"
#include "sampling/sample.cu"

namespace enginewright {

// Where an operator runs.
struct Place {
  bool on_device;
  cudaStream_t stream;
};

template <class T>
struct Kernels;

#define EW_KERNELS(T, suffix)                                          \
  template <>                                                          \
  struct Kernels<T> {                                                  \
    static constexpr auto rms_norm = &rms_norm_##suffix;               \
    static constexpr auto add_rms_norm = &add_rms_norm_##suffix;       \
    static constexpr auto swiglu = &swiglu_##suffix;                   \
    static constexpr auto mean_pool = &mean_pool_##suffix;             \
    static constexpr auto sample = &sample_##suffix;                   \
  };
EW_KERNELS(Float16, f16)
EW_KERNELS(BFloat16, bf16)
EW_KERNELS(float, f32)
#undef EW_KERNELS

inline dim3 shape_of(const BlockShape& shape) {
  return dim3(static_cast<unsigned>(shape.x), static_cast<unsigned>(shape.y),
              static_cast<unsigned>(shape.z));
}

// Throws `std::runtime_error` where the launch before it failed.
inline void check_launch(const char* name) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("enginewright::") + name + ": " +
                             cudaGetErrorString(error));
  }
}

template <class T>
void run_rms_norm(const Place& place, const T* x, const T* weight, T* y, int64_t rows,
                  int64_t columns, float epsilon) {
  if (rows == 0 || columns == 0) return;
  if (place.on_device) {
    const BlockShape block = row_block(columns, 4);
    const unsigned grid = static_cast<unsigned>(blocks(ceil_divide(rows, block.y)));
    Kernels<T>::rms_norm<<<grid, shape_of(block), 0, place.stream>>>(
        x, weight, y, rows, columns, columns, columns, epsilon);
    return check_launch("rms_norm");
  }
  LoneGroup group;
  for (int64_t row = 0; row < rows; ++row) {
    rms_norm_row<T, 4>(group, x + row * columns, weight, y + row * columns, columns, epsilon);
  }
}

template <class T>
void run_add_rms_norm(const Place& place, const T* x, const T* residual, const T* weight, T* sum,
                      T* y, int64_t rows, int64_t columns, float epsilon) {
  if (rows == 0 || columns == 0) return;
  if (place.on_device) {
    const BlockShape block = row_block(columns, 2);
    const unsigned grid = static_cast<unsigned>(blocks(ceil_divide(rows, block.y)));
    Kernels<T>::add_rms_norm<<<grid, shape_of(block), 0, place.stream>>>(
        x, residual, weight, sum, y, rows, columns, columns, columns, columns, columns, epsilon);
    return check_launch("add_rms_norm");
  }
  LoneGroup group;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * columns;
    add_rms_norm_row<T, 2>(group, x + at, residual + at, weight, sum + at, y + at, columns, epsilon);
  }
}

template <class T>
void run_swiglu(const Place& place, const T* gate, const T* up, T* y, int64_t count) {
  if (count == 0) return;
  if (place.on_device) {
    const unsigned grid = static_cast<unsigned>(swiglu_blocks(1, count));
    Kernels<T>::swiglu<<<grid, kBlock, 0, place.stream>>>(gate, up, y, 1, count, count, count,
                                                          count);
    return check_launch("swiglu");
  }
  const int64_t parts = swiglu_parts(count, 1, 2);
  for (int64_t part = 0; part < parts; ++part) {
    swiglu_part<T, 2>(LoneGroup(), gate, up, y, count, part, parts);
  }
}

// Sizes and strides in elements of a tensor with heads of contiguous dimensions.
struct HeadsLayout {
  int64_t batch, sequence, heads, dimension;
  int64_t batch_stride, sequence_stride, head_stride;
};

template <bool kInterleaved, class T>
__global__ void __launch_bounds__(kRotaryThreads, kRotaryBlocks)
    rotary_per_item(const T* x, T* y, const T* cosine, const T* sine, HeadsLayout at,
                    int64_t turned) {
  rotary<kInterleaved>(x, y, cosine, sine, nullptr, true, at.batch, at.sequence, at.heads,
                       at.dimension, turned, at.batch_stride, at.sequence_stride, at.head_stride,
                       at.batch_stride, at.sequence_stride, at.head_stride);
}

template <bool kInterleaved, class T>
void run_rotary_layout(const Place& place, const T* x, const T* cosine, const T* sine, T* y,
                       const HeadsLayout& at, int64_t turned) {
  if (place.on_device) {
    const BlockShape block = rotary_block(at.heads, at.dimension, turned);
    const int64_t wanted = ceil_divide(at.batch * at.sequence, block.z);
    rotary_per_item<kInterleaved, T>
        <<<static_cast<unsigned>(blocks(wanted)), shape_of(block), 0, place.stream>>>(
            x, y, cosine, sine, at, turned);
    return check_launch("rotary");
  }
  for (int64_t item = 0; item < at.batch; ++item) {
    for (int64_t index = 0; index < at.sequence; ++index) {
      const int64_t from = item * at.batch_stride + index * at.sequence_stride;
      const Angles<T> angles{cosine, sine, nullptr, item * at.sequence + index, turned / 2};
      rotary_token<T, kInterleaved>(0, 1, HeadRange{0, at.heads, 1}, x + from, y + from, angles,
                                    at.dimension, at.head_stride, at.head_stride);
    }
  }
}

// `cosine` and `sine` [batch, sequence, turned / 2]; y has the layout of x and is another tensor.
template <class T>
void run_rotary(const Place& place, const T* x, const T* cosine, const T* sine, T* y,
                const HeadsLayout& at, int64_t turned, bool interleaved) {
  if (at.batch * at.sequence * at.heads * at.dimension == 0) return;
  if (interleaved) {
    run_rotary_layout<true>(place, x, cosine, sine, y, at, turned);
  } else {
    run_rotary_layout<false>(place, x, cosine, sine, y, at, turned);
  }
}

// x [batch, sequence, columns], mask int64 [batch, sequence], y [batch, columns]. One launch: a
// batch that does not fill a device leaves some of it idle.
template <class T>
void run_mean_pool(const Place& place, const T* x, const int64_t* mask, float* y, int64_t batch,
                   int64_t sequence, int64_t columns, bool normalize) {
  if (batch == 0 || columns == 0) return;
  if (place.on_device) {
    const BlockShape block = pool_block(columns, sequence, batch);
    Kernels<T>::mean_pool<<<static_cast<unsigned>(blocks(batch)), shape_of(block), 0,
                            place.stream>>>(x, mask, y, batch, sequence, columns,
                                            sequence * columns, columns, columns, normalize);
    return check_launch("mean_pool");
  }
  LoneGroup group;
  for (int64_t item = 0; item < batch; ++item) {
    const T* from = x + item * sequence * columns;
    const int64_t* counted = mask + item * sequence;
    const TokenRange tokens{0, sequence, kRun};
    float* to = y + item * columns;
    for (int64_t column = 0; column < columns; ++column) {
      to[column] = masked_sum_element(from, counted, columns, tokens, column);
    }
    finish_pool(group, to, count_tokens(counted, tokens), to, 1, columns, normalize);
  }
}

// One token of each row of logits [rows, columns]: the same on the CPU, but for the rounding of exp.
template <class T>
void run_sample(const Place& place, const T* logits, int64_t* tokens, int64_t rows,
                int64_t columns, const SamplingSettings& settings) {
  if (rows == 0 || columns == 0) return;
  if (place.on_device) {
    Kernels<T>::sample<<<static_cast<unsigned>(blocks(rows)), kSampleThreads, 0, place.stream>>>(
        logits, tokens, rows, columns, columns, settings.temperature, settings.top_k,
        settings.top_p, settings.seed, settings.step);
    return check_launch("sample");
  }
  for (int64_t row = 0; row < rows; ++row) {
    tokens[row] = sample_row_alone(LoneGroup(), logits + row * columns, columns, row,
                                   kSampleThreads, settings);
  }
}

}  // namespace enginewright

// Mean pooling of an item by one block, or by several in two launches on a stream. In all kernels x is
// [batch, sequence, columns] with the given strides in elements and contiguous columns, mask int64
// [batch, sequence] contiguous, y float32 [batch, columns] with its row stride. Any pointer
// alignment of an element.
//
// mean_pool_*: any one-dimensional grid; a block of whole warps, x for columns and y for tokens, of
// at most 320 threads.
//
// masked_sum_*: the sums alone, to partial, float32 [batch, splits, columns]. The grid is
// (any, splits), the block as above.
//
// finish_mean_pool: the rest, from partial, which is used as scratch. Any one-dimensional grid, a
// block of `BlockRowGroup` with one row.
#include "common/group.cuh"
#include "pooling/mean_pool.cuh"

namespace enginewright {

// With kPoolBlocks at most 96 registers a thread: room for eight tokens of it, and for 20 warps on a
// multiprocessor.
constexpr int kPoolThreads = 320;
constexpr int kPoolBlocks = 2;

// The sums alone need fewer registers: 75 for compute capability 9.0, and so 24 warps, where the
// compiler is not told a bound. For 8.6 and 8.9 it then spills.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
#define EW_SUM_BOUNDS __launch_bounds__(enginewright::kPoolThreads, enginewright::kPoolBlocks)
#else
#define EW_SUM_BOUNDS __launch_bounds__(enginewright::kPoolThreads)
#endif

// Writes the sums of the tokens that the rows of the block have together to `to`; returns the number
// of this row's tokens. All threads may read `to` afterwards.
template <class T>
__device__ uint32_t block_sum(const T* from, const int64_t* mask, int64_t stride,
                              TokenRange tokens, int64_t columns, float* to) {
  __shared__ float shared[kPoolThreads * kPacketElements];
  const bool aligned = is_packet_aligned(from) && stride % kPacketElements == 0;
  const int64_t packets = packets_of<T>(columns, aligned);
  uint32_t counted = 0;
  EW_ROLLED
  for (int64_t first = 0; first < packets; first += blockDim.x) {
    const int64_t index = first + threadIdx.x;
    float sums[kPacketElements] = {};
    if (index < packets) counted = masked_sum_packet(from, mask, stride, tokens, index, sums);
    // Column by column, so that neighbours in a warp meet different banks.
    EW_UNROLL
    for (int k = 0; k < kPacketElements; ++k) {
      shared[(threadIdx.y * kPacketElements + k) * blockDim.x + threadIdx.x] = sums[k];
    }
    __syncthreads();
    const int width = blockDim.x * kPacketElements;
    EW_ROLLED
    for (int slot = threadIdx.y * blockDim.x + threadIdx.x; slot < width;
         slot += blockDim.x * blockDim.y) {
      const int64_t column = (first + slot % blockDim.x) * kPacketElements + slot / blockDim.x;
      float sum = 0.0f;
      EW_ROLLED
      for (int row = 0; row < blockDim.y; ++row) sum += shared[row * width + slot];
      if (column < packets * kPacketElements) to[column] = sum;
    }
    __syncthreads();
  }
  EW_ROLLED
  for (int64_t first = packets * kPacketElements; first < columns; first += blockDim.x) {
    const int64_t column = first + threadIdx.x;
    shared[threadIdx.y * blockDim.x + threadIdx.x] =
        column < columns ? masked_sum_element(from, mask, stride, tokens, column) : 0.0f;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
      float sum = 0.0f;
      EW_ROLLED
      for (int row = 0; row < blockDim.y; ++row) sum += shared[row * blockDim.x + threadIdx.x];
      to[column] = sum;
    }
    __syncthreads();
  }
  return packets > 0 ? counted : static_cast<uint32_t>(count_tokens(mask, tokens));
}

template <class T>
__device__ void masked_sum(const T* x, const int64_t* mask, float* partial, int64_t batch,
                           int64_t sequence, int64_t columns, int64_t batch_stride,
                           int64_t sequence_stride) {
  const int64_t splits = gridDim.y;
  const int64_t length = divide(sequence + splits - 1, splits);
  const int64_t end = min(sequence, (blockIdx.y + 1) * length);
  const TokenRange tokens{blockIdx.y * length + threadIdx.y * kRun, end,
                          int64_t{blockDim.y} * kRun};
  for (int64_t item = blockIdx.x; item < batch; item += gridDim.x) {
    block_sum(x + item * batch_stride, mask + item * sequence, sequence_stride, tokens, columns,
              partial + (item * splits + blockIdx.y) * columns);
  }
}

template <class T>
__device__ void mean_pool(const T* x, const int64_t* mask, float* y, int64_t batch,
                          int64_t sequence, int64_t columns, int64_t batch_stride,
                          int64_t sequence_stride, int64_t y_stride, bool normalize) {
  __shared__ uint64_t scratch[2][BlockGroup::kMaxWarps];
  BlockGroup group(scratch);
  for (int64_t item = blockIdx.x; item < batch; item += gridDim.x) {
    float* to = y + item * y_stride;
    const uint32_t counted =
        block_sum(x + item * batch_stride, mask + item * sequence, sequence_stride,
                  TokenRange{threadIdx.y * kRun, sequence, int64_t{blockDim.y} * kRun},
                  columns, to);
    // The threads of a row have the same tokens: one speaks for all.
    finish_pool(group, to, uint64_t{threadIdx.x == 0 ? counted : 0u}, to, 1, columns, normalize);
  }
}

}  // namespace enginewright

using enginewright::BFloat16;
using enginewright::Float16;

extern "C" __global__ void __launch_bounds__(enginewright::kPoolThreads, enginewright::kPoolBlocks)
    mean_pool_f16(const Float16* x, const int64_t* mask, float* y, int64_t batch, int64_t sequence,
                  int64_t columns, int64_t batch_stride, int64_t sequence_stride,
                  int64_t y_stride, int32_t normalize) {
  enginewright::mean_pool(x, mask, y, batch, sequence, columns, batch_stride, sequence_stride,
                          y_stride, normalize != 0);
}

extern "C" __global__ void __launch_bounds__(enginewright::kPoolThreads, enginewright::kPoolBlocks)
    mean_pool_bf16(const BFloat16* x, const int64_t* mask, float* y, int64_t batch, int64_t sequence,
                  int64_t columns, int64_t batch_stride, int64_t sequence_stride,
                  int64_t y_stride, int32_t normalize) {
  enginewright::mean_pool(x, mask, y, batch, sequence, columns, batch_stride, sequence_stride,
                          y_stride, normalize != 0);
}

extern "C" __global__ void __launch_bounds__(enginewright::kPoolThreads, enginewright::kPoolBlocks)
    mean_pool_f32(const float* x, const int64_t* mask, float* y, int64_t batch, int64_t sequence,
                  int64_t columns, int64_t batch_stride, int64_t sequence_stride,
                  int64_t y_stride, int32_t normalize) {
  enginewright::mean_pool(x, mask, y, batch, sequence, columns, batch_stride, sequence_stride,
                          y_stride, normalize != 0);
}

extern "C" __global__ void EW_SUM_BOUNDS
    masked_sum_f16(const Float16* x, const int64_t* mask, float* partial, int64_t batch,
                   int64_t sequence, int64_t columns, int64_t batch_stride,
                   int64_t sequence_stride) {
  enginewright::masked_sum(x, mask, partial, batch, sequence, columns, batch_stride,
                           sequence_stride);
}

extern "C" __global__ void EW_SUM_BOUNDS
    masked_sum_bf16(const BFloat16* x, const int64_t* mask, float* partial, int64_t batch,
                    int64_t sequence, int64_t columns, int64_t batch_stride,
                    int64_t sequence_stride) {
  enginewright::masked_sum(x, mask, partial, batch, sequence, columns, batch_stride,
                           sequence_stride);
}

extern "C" __global__ void EW_SUM_BOUNDS
    masked_sum_f32(const float* x, const int64_t* mask, float* partial, int64_t batch,
                    int64_t sequence, int64_t columns, int64_t batch_stride,
                    int64_t sequence_stride) {
  enginewright::masked_sum(x, mask, partial, batch, sequence, columns, batch_stride,
                           sequence_stride);
}

extern "C" __global__ void __launch_bounds__(1024)
    finish_mean_pool(float* partial, const int64_t* mask, float* y, int64_t batch,
                     int64_t splits, int64_t sequence, int64_t columns, int64_t y_stride,
                     int32_t normalize) {
  __shared__ uint64_t scratch[2][enginewright::BlockRowGroup::kMaxWarps];
  enginewright::BlockRowGroup group(scratch);
  for (int64_t item = blockIdx.x; item < batch; item += gridDim.x) {
    const enginewright::TokenRange tokens{threadIdx.x * enginewright::kRun, sequence,
                                          int64_t{blockDim.x} * enginewright::kRun};
    const uint64_t counted = enginewright::count_tokens(mask + item * sequence, tokens);
    enginewright::finish_pool(group, partial + item * splits * columns, counted,
                              y + item * y_stride, splits, columns, normalize != 0);
  }
}

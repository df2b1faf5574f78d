// Two kernels, one after the other on a stream.
//
// masked_sum_*: x [batch, sequence, columns] with the given strides in elements and contiguous
// columns, mask int64 [batch, sequence] contiguous, partial float32 [batch, splits, columns]. The
// grid is (any, splits); a block has x for columns and y for tokens, at most 512 threads.
//
// finish_mean_pool: partial as above, used as scratch; y float32 [batch, columns] with its row
// stride. Any one-dimensional grid, a block of `BlockRowGroup` with one row.
#include "common/group.cuh"
#include "pooling/mean_pool.cuh"

namespace enginewright {

constexpr int kMaxThreads = 512;

template <class T>
__device__ void masked_sum(const T* x, const int64_t* mask, float* partial, int64_t batch,
                           int64_t sequence, int64_t columns, int64_t batch_stride,
                           int64_t sequence_stride) {
  __shared__ float shared[kMaxThreads * kPacketElements];
  const int64_t splits = gridDim.y;
  const int64_t length = (sequence + splits - 1) / splits;
  const int64_t end = min(sequence, (blockIdx.y + 1) * length);
  const TokenRange tokens{blockIdx.y * length + threadIdx.y, end, blockDim.y};
  for (int64_t item = blockIdx.x; item < batch; item += gridDim.x) {
    const T* from = x + item * batch_stride;
    const int64_t* item_mask = mask + item * sequence;
    float* to = partial + (item * splits + blockIdx.y) * columns;
    const bool aligned = is_packet_aligned(from) && sequence_stride % kPacketElements == 0;
    const int64_t packets = aligned ? columns / kPacketElements : 0;
    for (int64_t first = 0; first < packets; first += blockDim.x) {
      const int64_t index = first + threadIdx.x;
      float sums[kPacketElements] = {};
      if (index < packets) {
        masked_sum_packet(from, item_mask, sequence_stride, tokens, index, sums);
      }
      // Column by column, so that neighbours in a warp meet different banks.
      EW_UNROLL
      for (int k = 0; k < kPacketElements; ++k) {
        shared[(threadIdx.y * kPacketElements + k) * blockDim.x + threadIdx.x] = sums[k];
      }
      __syncthreads();
      const int width = blockDim.x * kPacketElements;
      for (int slot = threadIdx.y * blockDim.x + threadIdx.x; slot < width;
           slot += blockDim.x * blockDim.y) {
        const int64_t column =
            (first + slot % blockDim.x) * kPacketElements + slot / blockDim.x;
        float sum = 0.0f;
        for (int row = 0; row < blockDim.y; ++row) sum += shared[row * width + slot];
        if (column < packets * kPacketElements) to[column] = sum;
      }
      __syncthreads();
    }
    for (int64_t first = packets * kPacketElements; first < columns; first += blockDim.x) {
      const int64_t column = first + threadIdx.x;
      shared[threadIdx.y * blockDim.x + threadIdx.x] =
          column < columns
              ? masked_sum_element(from, item_mask, sequence_stride, tokens, column)
              : 0.0f;
      __syncthreads();
      if (threadIdx.y == 0 && column < columns) {
        float sum = 0.0f;
        for (int row = 0; row < blockDim.y; ++row) sum += shared[row * blockDim.x + threadIdx.x];
        to[column] = sum;
      }
      __syncthreads();
    }
  }
}

}  // namespace enginewright

using enginewright::BFloat16;
using enginewright::Float16;

extern "C" __global__ void __launch_bounds__(enginewright::kMaxThreads)
    masked_sum_f16(const Float16* x, const int64_t* mask, float* partial, int64_t batch,
                   int64_t sequence, int64_t columns, int64_t batch_stride,
                   int64_t sequence_stride) {
  enginewright::masked_sum(x, mask, partial, batch, sequence, columns, batch_stride,
                           sequence_stride);
}

extern "C" __global__ void __launch_bounds__(enginewright::kMaxThreads)
    masked_sum_bf16(const BFloat16* x, const int64_t* mask, float* partial, int64_t batch,
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
    enginewright::finish_pool(group, partial + item * splits * columns, mask + item * sequence,
                              y + item * y_stride, splits, sequence, columns, normalize != 0);
  }
}

// A group of threads that works on one row: the threads of a block with equal threadIdx.y.
//
// Code for a row is written against these members, so that `host_group.h` can run it on the CPU:
//   rank(), size()      this thread, and how many there are
//   sum(value)          the sum over the group, the same in every thread, in a fixed order
//   maximum(value)      likewise
//   sum_before(value, total)   the sum over the lower ranks, and the sum over all
//   count(holds)        in how many threads it holds
//   wait()              until every thread is here; what they wrote before can then be read
#pragma once

#include "common/element.cuh"

namespace enginewright {

// Block shapes that it takes: blockDim.x a power of two up to 32 (rows share a warp), or a multiple
// of 32 (a row has several warps), and any blockDim.y. All threads of the block must call all but
// the first two equally often. `sum_before` needs whole warps, and `count` a block with one row.
class BlockRowGroup {
 public:
  static constexpr int kMaxWarps = 32;

  // `scratch` is shared memory of the block.
  __device__ explicit BlockRowGroup(uint64_t (*scratch)[kMaxWarps]) : scratch_(scratch) {}

  __device__ int rank() const { return threadIdx.x; }
  __device__ int size() const { return blockDim.x; }

  template <class V>
  __device__ V sum(V value) {
    return reduce(value, [](V a, V b) { return a + b; });
  }

  template <class V>
  __device__ V maximum(V value) {
    return reduce(value, [](V a, V b) { return a < b ? b : a; });
  }

  __device__ uint64_t sum_before(uint64_t value, uint64_t& total) {
    const int lane = threadIdx.x % 32;
    uint64_t inclusive = value;
    for (int offset = 1; offset < 32; offset *= 2) {
      const uint64_t lower = __shfl_up_sync(0xffffffffu, inclusive, offset);
      if (lane >= offset) inclusive += lower;
    }
    const int warps = blockDim.x / 32;
    uint64_t* slots = next_slots<uint64_t>();
    if (lane == 31) slots[threadIdx.y * warps + threadIdx.x / 32] = inclusive;
    __syncthreads();
    uint64_t before = inclusive - value;
    total = 0;
    for (int warp = 0; warp < warps; ++warp) {
      const uint64_t sum = slots[threadIdx.y * warps + warp];
      if (warp < threadIdx.x / 32) before += sum;
      total += sum;
    }
    return before;
  }

  __device__ uint32_t count(bool holds) { return __syncthreads_count(holds); }

  __device__ void wait() { __syncthreads(); }

 private:
  // Two sets of slots in turn: a set is written again only after the barrier of the other one,
  // which no thread passes before every thread has read this set.
  template <class V>
  __device__ V* next_slots() {
    V* slots = reinterpret_cast<V*>(scratch_[turn_]);
    turn_ ^= 1;
    return slots;
  }

  template <class V, class Combine>
  __device__ V reduce(V value, Combine combine) {
    const int lanes = blockDim.x < 32 ? blockDim.x : 32;
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    if (blockDim.x <= 32) return value;
    V* slots = next_slots<V>();
    const int warps = blockDim.x / 32;
    const int first = threadIdx.y * warps;
    const int lane = threadIdx.x % 32;
    if (lane == 0) slots[first + threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[first];
    for (int warp = 1; warp < warps; ++warp) value = combine(value, slots[first + warp]);
    return value;
  }

  uint64_t (*scratch_)[kMaxWarps];
  int turn_ = 0;
};

// All threads of a block of whole warps, of two dimensions, as one group that can sum.
class BlockGroup {
 public:
  static constexpr int kMaxWarps = BlockRowGroup::kMaxWarps;

  // `scratch` is shared memory of the block.
  __device__ explicit BlockGroup(uint64_t (*scratch)[kMaxWarps]) : scratch_(scratch) {}

  __device__ int rank() const { return threadIdx.y * blockDim.x + threadIdx.x; }
  __device__ int size() const { return blockDim.x * blockDim.y; }

  template <class V>
  __device__ V sum(V value) {
    for (int offset = 16; offset > 0; offset /= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    // Two sets of slots in turn, as above.
    V* slots = reinterpret_cast<V*>(scratch_[turn_]);
    turn_ ^= 1;
    if (rank() % 32 == 0) slots[rank() / 32] = value;
    __syncthreads();
    value = slots[0];
    for (int warp = 1; warp < size() / 32; ++warp) value += slots[warp];
    return value;
  }

 private:
  uint64_t (*scratch_)[kMaxWarps];
  int turn_ = 0;
};

}  // namespace enginewright

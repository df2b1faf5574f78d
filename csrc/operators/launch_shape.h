// Shapes of launches that suit the sizes: the rules of `enginewright.kernels.launch.operators`, which
// has the reasons. `tests/csrc/test_kernel_math.py` holds both to the same numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace enginewright {

struct BlockShape {
  int64_t x, y, z;
};

constexpr int64_t kPacket = 8;  // 16-bit elements of a 16-byte access
constexpr int64_t kBlock = 256;
constexpr int64_t kRotaryBlock = 64;
constexpr int64_t kPoolBlock = 192;
constexpr int64_t kPoolRun = 8;
constexpr int64_t kMultiprocessors = 132;
constexpr int64_t kSampleThreads = 1024;
constexpr int64_t kMostBlocks = 2147483647;

inline int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline int64_t power_of_two(int64_t least) {
  int64_t power = 1;
  while (power < least) power *= 2;
  return power;
}

inline int64_t blocks(int64_t count) {
  return std::clamp<int64_t>(count, 1, kMostBlocks);
}

// Threads of a row, and rows of a block, for kernels with a `BlockRowGroup`.
inline BlockShape row_block(int64_t columns, int64_t packets_a_thread) {
  const int64_t packets = std::max<int64_t>(1, ceil_divide(columns, kPacket));
  const int64_t threads = ceil_divide(packets, packets_a_thread);
  if (threads <= 32) {
    const int64_t lanes = power_of_two(threads);
    return {lanes, kBlock / 2 / lanes, 1};
  }
  const int64_t warps = std::min<int64_t>(32, ceil_divide(threads, 32));
  return {32 * warps, std::max<int64_t>(1, 4 / warps), 1};
}

inline int64_t swiglu_blocks(int64_t rows, int64_t columns) {
  return blocks(rows * ceil_divide(columns, kPacket * 2 * kBlock));
}

// Threads for the columns of a head, for heads, and for tokens; not in place.
inline BlockShape rotary_block(int64_t heads, int64_t dimension, int64_t rotary) {
  const int64_t turned = ceil_divide(ceil_divide(rotary, kPacket), 2);
  const int64_t passed = ceil_divide(ceil_divide(dimension - rotary, kPacket), 2);
  const int64_t units = turned + passed;
  const int64_t columns = ceil_divide(units, ceil_divide(units, 32));
  const int64_t at_once = std::max<int64_t>(1, kRotaryBlock / columns);
  const int64_t together = std::min(ceil_divide(heads, 4), at_once);
  return {columns, together, std::min<int64_t>(at_once / together, 64)};
}

// Whole warps: threads for the columns, and for the tokens of an item.
inline BlockShape pool_block(int64_t columns, int64_t tokens, int64_t items) {
  const int64_t packets = ceil_divide(columns, kPacket);
  int64_t across = power_of_two(packets);
  if (packets > 8) {
    const int64_t whole = packets <= 64 ? 8 : 32;
    across = std::min(kPoolBlock, ceil_divide(packets, whole) * whole);
  }
  const int64_t step = 32 / std::gcd<int64_t>(across, 32);
  const int64_t threads = items >= 8 * kMultiprocessors ? kPoolBlock / 2 : kPoolBlock;
  const int64_t most = std::max<int64_t>(1, threads / across / step);
  const int64_t wanted = ceil_divide(ceil_divide(tokens, kPoolRun), step);
  return {across, step * std::max<int64_t>(1, std::min(most, wanted)), 1};
}

}  // namespace enginewright

// Residual addition and RMS normalisation of a row in one pass:
//   sum = x + residual, rounded to the element type; y = rms_norm(sum).
// The norm is of the rounded sum, as it is where the two are separate operators.
#pragma once

#include "common/element.cuh"
#include "norm/rms_norm.cuh"

namespace enginewright {

template <class T>
EW_HD Packet added(const Packet& a, const Packet& b) {
  Packet result;
  EW_UNROLL
  for (int word = 0; word < 4; ++word) {
    const Pair<T> left = unpack<T>(a.words[word]);
    const Pair<T> right = unpack<T>(b.words[word]);
    result.words[word] = pack<T>(left.low + right.low, left.high + right.high);
  }
  return result;
}

// `sum` may be `x` or `residual`, and `y` may be `x`, but `sum` and `y` must be apart.
template <class T, int kHeld, class Group>
EW_HD void add_rms_norm_row(Group& group, const T* x, const T* residual, const T* weight, T* sum,
                            T* y, int64_t columns, float epsilon) {
  const bool aligned = is_packet_aligned(x) && is_packet_aligned(residual) &&
                       is_packet_aligned(weight) && is_packet_aligned(sum) &&
                       is_packet_aligned(y);
  const int64_t packets = packets_of<T>(columns, aligned);
  const int64_t rank = group.rank(), size = group.size();
  const int64_t beyond = kHeld * size;
  Packet held[kHeld], other[kHeld], gains[kHeld];
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const int64_t index = rank + k * size;
    if (index < packets) {
      held[k] = load_packet(x, index);
      other[k] = load_packet(residual, index);
    }
  }
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const int64_t index = rank + k * size;
    if (index < packets) gains[k] = load_packet(weight, index);
  }
  float squares = 0.0f;
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const int64_t index = rank + k * size;
    if (index < packets) {
      held[k] = added<T>(held[k], other[k]);
      store_packet(sum, index, held[k]);
      squares += sum_of_squares<T>(held[k]);
    }
  }
  for (int64_t index = beyond + rank; index < packets; index += size) {
    const Packet total = added<T>(load_packet(x, index), load_packet(residual, index));
    store_packet(sum, index, total);
    squares += sum_of_squares<T>(total);
  }
  for (int64_t index = packets * kPacketElements + rank; index < columns; index += size) {
    const T total = from_float<T>(to_float(x[index]) + to_float(residual[index]));
    sum[index] = total;
    squares += to_float(total) * to_float(total);
  }
  const float scale =
      reciprocal_sqrt(group.sum(squares) / static_cast<float>(columns) + epsilon);
  // What a thread reads back from `sum` it wrote itself.
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const int64_t index = rank + k * size;
    if (index < packets) store_packet(y, index, scaled<T>(held[k], gains[k], scale));
  }
  for (int64_t index = beyond + rank; index < packets; index += size) {
    store_packet(y, index,
                 scaled<T>(load_packet(sum, index), load_packet(weight, index), scale));
  }
  for (int64_t index = packets * kPacketElements + rank; index < columns; index += size) {
    y[index] = from_float<T>(to_float(sum[index]) * scale * to_float(weight[index]));
  }
}

}  // namespace enginewright

// RMS normalisation of a row: y = x / sqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich 2019,
// "Root Mean Square Layer Normalization"). Float32 throughout, one rounding at the end.
#pragma once

#include "common/element.cuh"

namespace enginewright {

template <class T>
EW_HD float sum_of_squares(const Packet& packet) {
  float sum = 0.0f;
  EW_UNROLL
  for (int word = 0; word < 4; ++word) {
    const Pair<T> x = unpack<T>(packet.words[word]);
    sum += x.low * x.low + x.high * x.high;
  }
  return sum;
}

template <class T>
EW_HD Packet scaled(const Packet& x, const Packet& weight, float scale) {
  Packet result;
  EW_UNROLL
  for (int word = 0; word < 4; ++word) {
    const Pair<T> value = unpack<T>(x.words[word]);
    const Pair<T> gain = unpack<T>(weight.words[word]);
    result.words[word] =
        pack<T>(value.low * scale * gain.low, value.high * scale * gain.high);
  }
  return result;
}

// One row of `columns` elements; `y` may be `x`. Aligned pointers take 16-byte accesses, and a row
// of up to `kHeld` packets a thread is read once and kept in registers.
template <class T, int kHeld, class Group>
EW_HD void rms_norm_row(Group& group, const T* x, const T* weight, T* y, int64_t columns,
                        float epsilon) {
  const bool aligned = is_packet_aligned(x) && is_packet_aligned(weight) && is_packet_aligned(y);
  const int64_t packets = packets_of<T>(columns, aligned);
  const int64_t rank = group.rank(), size = group.size();
  const int64_t beyond = kHeld * size;  // the first packet that no register holds
  Packet held[kHeld], gains[kHeld];
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const int64_t index = rank + k * size;
    if (index < packets) held[k] = load_packet(x, index);
  }
  // Asked for now, so that they arrive while the sum is made.
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const int64_t index = rank + k * size;
    if (index < packets) gains[k] = load_packet(weight, index);
  }
  float sum = 0.0f;
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    if (rank + k * size < packets) sum += sum_of_squares<T>(held[k]);
  }
  for (int64_t index = beyond + rank; index < packets; index += size) {
    sum += sum_of_squares<T>(load_packet(x, index));
  }
  for (int64_t index = packets * kPacketElements + rank; index < columns; index += size) {
    const float value = to_float(x[index]);
    sum += value * value;
  }
  const float scale =
      reciprocal_sqrt(group.sum(sum) / static_cast<float>(columns) + epsilon);
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const int64_t index = rank + k * size;
    if (index < packets) store_packet(y, index, scaled<T>(held[k], gains[k], scale));
  }
  for (int64_t index = beyond + rank; index < packets; index += size) {
    store_packet(y, index,
                 scaled<T>(load_packet(x, index), load_packet(weight, index), scale));
  }
  for (int64_t index = packets * kPacketElements + rank; index < columns; index += size) {
    y[index] = from_float<T>(to_float(x[index]) * scale * to_float(weight[index]));
  }
}

}  // namespace enginewright

// SwiGLU (Shazeer 2020, "GLU Variants Improve Transformer"): y = gate / (1 + exp(-gate)) * up.
#pragma once

#include "common/element.cuh"

namespace enginewright {

EW_HD float silu(float value) {
  const float denominator = 1.0f + fast_exp(-value);
#if defined(__CUDA_ARCH__)
  return __fdividef(value, denominator);  // exp overflows to infinity, which gives -0 as it should
#else
  return value / denominator;
#endif
}

template <class T>
EW_HD Packet gated(const Packet& gate, const Packet& up) {
  Packet result;
  EW_UNROLL
  for (int word = 0; word < 4; ++word) {
    const Pair<T> g = unpack<T>(gate.words[word]);
    const Pair<T> u = unpack<T>(up.words[word]);
    result.words[word] = pack<T>(silu(g.low) * u.low, silu(g.high) * u.high);
  }
  return result;
}

// Part `part` of a row, of `kHeld` packets a thread; the parts of a row together cover it. The
// elements after the last packet belong to the last part. `y` may be `gate` or `up`.
template <class T, int kHeld, class Group>
EW_HD void swiglu_part(const Group& group, const T* gate, const T* up, T* y, int64_t columns,
                       int64_t part, int64_t parts) {
  const bool aligned = is_packet_aligned(gate) && is_packet_aligned(up) && is_packet_aligned(y);
  const int64_t packets = packets_of<T>(columns, aligned);
  const int64_t size = group.size();
  const int64_t start = part * kHeld * size + group.rank();
  Packet gates[kHeld], ups[kHeld];
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    if (start + k * size < packets) {
      gates[k] = load_packet(gate, start + k * size);
      ups[k] = load_packet(up, start + k * size);
    }
  }
  EW_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    if (start + k * size < packets) {
      store_packet(y, start + k * size, gated<T>(gates[k], ups[k]));
    }
  }
  const int64_t done = packets * kPacketElements;
  for (int64_t index = done + part * size + group.rank(); index < columns;
       index += parts * size) {
    y[index] = from_float<T>(silu(to_float(gate[index])) * to_float(up[index]));
  }
}

// How many parts cover a row.
EW_HD int64_t swiglu_parts(int64_t columns, int64_t threads, int held) {
  const int64_t packets = columns / kPacketElements;
  const int64_t a_part = threads * held;
  return packets == 0 ? 1 : divide(packets + a_part - 1, a_part);
}

}  // namespace enginewright

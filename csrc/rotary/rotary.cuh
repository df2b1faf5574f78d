// Rotary position embedding (Su et al. 2021, "RoFormer"): the pair (a, b) of each head becomes
//   a * cos - b * sin,  b * cos + a * sin
// for the first `rotary` elements of a head; the others pass unchanged (partial rotary). Pair `i`
// is (x[i], x[i + rotary / 2]) in the half layout of GPT-NeoX and (x[2i], x[2i + 1]) in the
// interleaved one of GPT-J.
#pragma once

#include "common/element.cuh"

namespace enginewright {

EW_HD void rotate(float& a, float& b, float cosine, float sine) {
  const float rotated = a * cosine - b * sine;
  b = b * cosine + a * sine;
  a = rotated;
}

// Eight pairs, whose halves are in two packets.
template <class T>
EW_HD void rotate_halves(Packet& low, Packet& high, const float* cosine, const float* sine) {
  EW_UNROLL
  for (int word = 0; word < 4; ++word) {
    Pair<T> a = unpack<T>(low.words[word]);
    Pair<T> b = unpack<T>(high.words[word]);
    rotate(a.low, b.low, cosine[2 * word], sine[2 * word]);
    rotate(a.high, b.high, cosine[2 * word + 1], sine[2 * word + 1]);
    low.words[word] = pack<T>(a.low, a.high);
    high.words[word] = pack<T>(b.low, b.high);
  }
}

// Four pairs of neighbours in one packet.
template <class T>
EW_HD void rotate_neighbours(Packet& packet, const float* cosine, const float* sine) {
  EW_UNROLL
  for (int word = 0; word < 4; ++word) {
    Pair<T> pair = unpack<T>(packet.words[word]);
    rotate(pair.low, pair.high, cosine[word], sine[word]);
    packet.words[word] = pack<T>(pair.low, pair.high);
  }
}

// `from` is aligned to 16 bytes.
template <int kCount>
EW_HD void load_floats(const float* from, float (&to)[kCount]) {
  EW_UNROLL
  for (int packet = 0; packet < kCount / 4; ++packet) {
    const FloatPacket four = reinterpret_cast<const FloatPacket*>(from)[packet];
    EW_UNROLL
    for (int k = 0; k < 4; ++k) to[4 * packet + k] = four.values[k];
  }
}

struct HeadRange {
  int64_t first, end, step;
};

// The packets of a head that hold eight pairs in the half layout, or four in the interleaved one.
template <class T, bool kInterleaved>
struct Unit {
  Packet low, high;

  EW_HD void load(const T* head, int64_t index, int64_t half) {
    low = load_packet(head, index);
    if constexpr (!kInterleaved) high = load_packet(head, index + half / kPacketElements);
  }

  EW_HD void store(T* head, int64_t index, int64_t half) const {
    store_packet(head, index, low);
    if constexpr (!kInterleaved) store_packet(head, index + half / kPacketElements, high);
  }

  EW_HD void turn(const float* cosine, const float* sine) {
    if constexpr (kInterleaved) {
      rotate_neighbours<T>(low, cosine, sine);
    } else {
      rotate_halves<T>(low, high, cosine, sine);
    }
  }
};

// All heads of a token that `heads` names. `x` and `y` point to the token's first head and may be
// the same; `cosine` and `sine` to the table, of rotary / 2 values a position. A thread keeps the
// angles of its columns in registers from head to head.
template <class T, bool kInterleaved>
EW_HD void rotary_token(int64_t rank, int64_t size, HeadRange heads, const T* x, T* y,
                        const float* cosine, const float* sine, int64_t position,
                        int64_t dimension, int64_t rotary, int64_t x_stride, int64_t y_stride) {
  const int64_t half = rotary / 2;
  const bool whole = (kInterleaved ? rotary : half) % kPacketElements == 0;
  // Every row of the table is aligned where the first one is, so that nothing here waits for the
  // position.
  const bool aligned = whole && is_packet_aligned(x) && is_packet_aligned(y) &&
                       is_packet_aligned(cosine) && is_packet_aligned(sine) &&
                       x_stride % kPacketElements == 0 && y_stride % kPacketElements == 0;
  if (aligned) {
    constexpr int kAngles = kInterleaved ? 4 : 8;
    for (int64_t index = rank; index < half / kAngles; index += size) {
      // The first head is asked for before the angles, which wait for the position.
      Unit<T, kInterleaved> unit;
      int64_t head = heads.first;
      if (head < heads.end) unit.load(x + head * x_stride, index, half);
      float c[kAngles], s[kAngles];
      load_floats(cosine + position * half + index * kAngles, c);
      load_floats(sine + position * half + index * kAngles, s);
      while (head < heads.end) {
        unit.turn(c, s);
        unit.store(y + head * y_stride, index, half);
        head += heads.step;
        if (head < heads.end) unit.load(x + head * x_stride, index, half);
      }
    }
  } else {
    for (int64_t pair = rank; pair < half; pair += size) {
      const int64_t first = kInterleaved ? 2 * pair : pair;
      const int64_t second = kInterleaved ? 2 * pair + 1 : pair + half;
      for (int64_t head = heads.first; head < heads.end; head += heads.step) {
        float a = to_float(x[head * x_stride + first]);
        float b = to_float(x[head * x_stride + second]);
        rotate(a, b, cosine[position * half + pair], sine[position * half + pair]);
        y[head * y_stride + first] = from_float<T>(a);
        y[head * y_stride + second] = from_float<T>(b);
      }
    }
  }
  const int64_t packets = aligned ? dimension / kPacketElements : rotary / kPacketElements;
  const int64_t rest = aligned ? packets * kPacketElements : rotary;
  for (int64_t head = heads.first; head < heads.end; head += heads.step) {
    const T* from = x + head * x_stride;
    T* to = y + head * y_stride;
    for (int64_t index = rotary / kPacketElements + rank; index < packets; index += size) {
      store_packet(to, index, load_packet(from, index));
    }
    for (int64_t index = rest + rank; index < dimension; index += size) to[index] = from[index];
  }
}

}  // namespace enginewright

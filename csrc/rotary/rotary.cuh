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

struct HeadRange {
  int64_t first, end, step;
};

struct TokenPlace {
  int64_t item, index;  // in the batch, in the sequence
};

// The order in which tokens are worked on: eight items of a batch side by side, so that the row of
// the table of one index in the sequence comes from memory once for all eight.
EW_HD TokenPlace token_place(int64_t token, int64_t batch, int64_t sequence) {
  constexpr int64_t kSideBySide = 8;
  const int64_t eight = divide(token, kSideBySide * sequence);
  const int64_t first = eight * kSideBySide;
  const int64_t items = batch - first < kSideBySide ? batch - first : kSideBySide;
  const int64_t within = token - first * sequence;
  const int64_t index = divide(within, items);
  return {first + within - index * items, index};
}

// The angles of a token: a row of `rotary` / 2 values of the table, which is named by a position.
template <class A>
struct Angles {
  const A* cosine;
  const A* sine;
  const int64_t* position;  // null where it is the index in the sequence
  int64_t index, half;

  EW_HD int64_t row() const { return (position ? *position : index) * half; }
};

// Two packets of a head, which one thread turns or copies. In the half layout they hold both halves
// of eight pairs.
struct Unit {
  int64_t low, high;  // packets
  bool has_high, turned;
};

// How a head is cut into units: first the ones that turn, then the ones that pass.
class HeadUnits {
 public:
  EW_HD HeadUnits(int64_t turned_packets, int64_t passed_packets)
      : turned_packets_(turned_packets),
        passed_packets_(passed_packets),
        turned_((turned_packets + 1) / 2),
        passed_((passed_packets + 1) / 2) {}

  EW_HD int64_t count() const { return turned_ + passed_; }

  // The two packets of a unit are as far apart as units go, so that neighbouring threads touch
  // neighbouring packets.
  EW_HD Unit unit(int64_t index) const {
    if (index < turned_) {
      return {index, index + turned_, index + turned_ < turned_packets_, true};
    }
    const int64_t passed = index - turned_;
    return {turned_packets_ + passed, turned_packets_ + passed + passed_,
            passed + passed_ < passed_packets_, false};
  }

 private:
  int64_t turned_packets_, passed_packets_, turned_, passed_;
};

// The angles of a unit's pairs, from a row of the table: eight together in the half layout, four of
// each packet in the interleaved one.
template <bool kInterleaved, class A>
EW_HD void load_angles(const A* row, const Unit& unit, float (&to)[kPacketElements]) {
  const auto four = [&](int64_t pair, int first) {
    if constexpr (sizeof(A) == 4) {
      const FloatPacket angles = reinterpret_cast<const FloatPacket*>(row + pair)[0];
      EW_UNROLL
      for (int k = 0; k < 4; ++k) to[first + k] = angles.values[k];
    } else {
      EW_UNROLL
      for (int k = 0; k < 4; ++k) to[first + k] = to_float(row[pair + k]);
    }
  };
  if constexpr (kInterleaved) {
    four(4 * unit.low, 0);
    if (unit.has_high) four(4 * unit.high, 4);
  } else {
    four(8 * unit.low, 0);
    four(8 * unit.low + 4, 4);
  }
}

// One unit of several heads at once: `kHeads` of them are under way before the first is used, and
// the angles stay in registers from head to head.
template <class T, bool kInterleaved, class A>
EW_HD void turn_unit(const Unit& unit, HeadRange heads, const T* x, T* y, const Angles<A>& angles,
                     int64_t x_stride, int64_t y_stride) {
  constexpr int kHeads = 4;
  Packet low[kHeads], high[kHeads];
  const auto load = [&](int64_t first) {
    EW_UNROLL
    for (int k = 0; k < kHeads; ++k) {
      const int64_t head = first + k * heads.step;
      if (head < heads.end) {
        low[k] = load_packet(x + head * x_stride, unit.low);
        if (unit.has_high) high[k] = load_packet(x + head * x_stride, unit.high);
      }
    }
  };
  load(heads.first);
  // The position too is asked for after the heads: whatever came after it would wait for it.
  float c[kPacketElements] = {}, s[kPacketElements] = {};
  if (unit.turned) {
    const int64_t row = angles.row();
    load_angles<kInterleaved>(angles.cosine + row, unit, c);
    load_angles<kInterleaved>(angles.sine + row, unit, s);
  }
  for (int64_t first = heads.first; first < heads.end; first += kHeads * heads.step) {
    if (first != heads.first) load(first);
    EW_UNROLL
    for (int k = 0; k < kHeads; ++k) {
      const int64_t head = first + k * heads.step;
      if (head < heads.end) {
        if (unit.turned) {
          if constexpr (kInterleaved) {
            rotate_neighbours<T>(low[k], c, s);
            if (unit.has_high) rotate_neighbours<T>(high[k], c + 4, s + 4);
          } else {
            rotate_halves<T>(low[k], high[k], c, s);
          }
        }
        store_packet(y + head * y_stride, unit.low, low[k]);
        if (unit.has_high) store_packet(y + head * y_stride, unit.high, high[k]);
      }
    }
  }
}

// All heads of a token that `heads` names. `x` and `y` point to the token's first head and may be
// the same: then what does not turn is not touched.
template <class T, bool kInterleaved, class A>
EW_HD void rotary_token(int64_t rank, int64_t size, HeadRange heads, const T* x, T* y,
                        const Angles<A>& angles, int64_t dimension, int64_t x_stride,
                        int64_t y_stride) {
  const int64_t half = angles.half, rotary = 2 * half;
  const bool in_place = x == y && x_stride == y_stride;
  const int64_t end = in_place ? rotary : dimension;
  const bool whole = (kInterleaved ? rotary : half) % kPacketElements == 0;
  // Every row of the table is aligned where the first one is.
  const bool aligned = kHasPackets<T> && whole && is_packet_aligned(x) && is_packet_aligned(y) &&
                       is_packet_aligned(angles.cosine) && is_packet_aligned(angles.sine) &&
                       x_stride % kPacketElements == 0 && y_stride % kPacketElements == 0;
  if (aligned) {
    const HeadUnits units(rotary / kPacketElements, (end - rotary) / kPacketElements);
    for (int64_t index = rank; index < units.count(); index += size) {
      turn_unit<T, kInterleaved>(units.unit(index), heads, x, y, angles, x_stride, y_stride);
    }
  } else {
    const int64_t row = angles.row();
    for (int64_t pair = rank; pair < half; pair += size) {
      const int64_t first = kInterleaved ? 2 * pair : pair;
      const int64_t second = kInterleaved ? 2 * pair + 1 : pair + half;
      for (int64_t head = heads.first; head < heads.end; head += heads.step) {
        float a = to_float(x[head * x_stride + first]);
        float b = to_float(x[head * x_stride + second]);
        rotate(a, b, to_float(angles.cosine[row + pair]), to_float(angles.sine[row + pair]));
        y[head * y_stride + first] = from_float<T>(a);
        y[head * y_stride + second] = from_float<T>(b);
      }
    }
  }
  // What neither turned nor filled a packet.
  const int64_t rest = aligned ? end / kPacketElements * kPacketElements : rotary;
  for (int64_t head = heads.first; head < heads.end; head += heads.step) {
    for (int64_t index = rest + rank; index < end; index += size) {
      y[head * y_stride + index] = x[head * x_stride + index];
    }
  }
}

}  // namespace enginewright

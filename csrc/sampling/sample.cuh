// Draws one token of a row of logits: temperature, then top-k, then top-p (Holtzman et al. 2019,
// "The Curious Case of Neural Text Degeneration"), then the inverse of the cumulative distribution
// at a random number.
//
//   temperature 0      the largest logit, the lowest index among equals; the rest is ignored
//   top_k 0            no bound; otherwise logits below the k-th largest are dropped
//   top_p 1            no bound; otherwise the fewest most probable tokens stay whose probability
//                      together reaches top_p, of what top-k left
//
// Tokens with equal logits stay or go together, so a bound may keep more than it asks. NaN and
// negative infinity are never drawn while a finite logit is there.
//
// Weights are integers, exp((logit - largest) / temperature) * 2^40 rounded down. Integer sums do not
// depend on their order, so a draw is the same on every run. Tokens less than 2^-40 as likely as
// the likeliest are never drawn. At most 2^22 columns.
#pragma once

#include "common/element.cuh"
#include "sampling/philox.cuh"

namespace enginewright {

// Unsigned keys in the order of the values; equal values (the two zeros too) have equal keys, and
// NaN has 0, below negative infinity.
EW_HD uint32_t order_key(float value) {
  if (value != value) return 0;
  if (value == 0.0f) return 0x80000000u;
  const uint32_t bits = float_bits(value);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

struct SamplingSettings {
  float temperature;
  int64_t top_k;
  float top_p;
  uint64_t seed;
  uint64_t step;
};

// Calls `visit(index, value)` for the elements of this thread, always in the same order.
template <class T, class Group, class Visit>
EW_HD void visit_row(const Group& group, const T* row, int64_t columns, Visit visit) {
  int64_t done = 0;
  if constexpr (sizeof(T) == 2) {
    const int64_t packets = is_packet_aligned(row) ? columns / kPacketElements : 0;
    for (int64_t index = group.rank(); index < packets; index += group.size()) {
      const Packet packet = load_packet(row, index);
      EW_UNROLL
      for (int word = 0; word < 4; ++word) {
        const Pair<T> pair = unpack<T>(packet.words[word]);
        visit(index * kPacketElements + 2 * word, pair.low);
        visit(index * kPacketElements + 2 * word + 1, pair.high);
      }
    }
    done = packets * kPacketElements;
  }
  for (int64_t index = done + group.rank(); index < columns; index += group.size()) {
    visit(index, to_float(row[index]));
  }
}

EW_HD uint64_t weight_of(float logit, float largest, float temperature) {
  // Equal infinities have no difference; a NaN compares false and weighs nothing.
  if (logit == largest) return uint64_t{1} << 40;
  const float weight = exact_exp((logit - largest) / temperature);
  return weight > 0.0f ? static_cast<uint64_t>(weight * 1099511627776.0f) : 0;
}

// The largest key at or above which `measure` (not increasing in its argument) reaches `target`,
// between `low`, where it does, and `high`, where it does not.
template <class Measure>
EW_HD uint32_t last_key_reaching(uint64_t target, uint32_t low, uint64_t high, Measure measure) {
  uint64_t reached = low;
  while (high - reached > 1) {
    const uint64_t middle = reached + (high - reached) / 2;
    if (measure(static_cast<uint32_t>(middle)) >= target) {
      reached = middle;
    } else {
      high = middle;
    }
  }
  return static_cast<uint32_t>(reached);
}

// The upper 64 bits of the product.
EW_HD uint64_t multiply_high(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
}

// Returns the token in every thread of the group, which needs whole warps.
template <class T, class Group>
EW_HD int64_t sample_row(Group& group, const T* row, int64_t columns, uint64_t row_number,
                         const SamplingSettings& settings) {
  uint64_t best = 0;  // the key above the complement of the index: the lowest index wins a tie
  visit_row(group, row, columns, [&](int64_t index, float value) {
    const uint64_t entry = (uint64_t{order_key(value)} << 32) | (0xffffffffu - uint32_t(index));
    if (entry > best) best = entry;
  });
  best = group.maximum(best);
  const int64_t likeliest = 0xffffffffu - static_cast<uint32_t>(best);
  const uint32_t top_key = static_cast<uint32_t>(best >> 32);
  if (settings.temperature <= 0.0f || top_key == 0) return likeliest;
  const float largest = to_float(row[likeliest]);

  uint32_t floor_key = 1;  // without the NaNs
  if (settings.top_k > 0 && settings.top_k < columns) {
    floor_key = last_key_reaching(settings.top_k, floor_key, uint64_t{top_key} + 1,
                                  [&](uint32_t key) {
                                    uint64_t count = 0;
                                    visit_row(group, row, columns, [&](int64_t, float value) {
                                      count += order_key(value) >= key;
                                    });
                                    return group.sum(count);
                                  });
  }
  const auto own_mass = [&](uint32_t key) {
    uint64_t mass = 0;
    visit_row(group, row, columns, [&](int64_t, float value) {
      if (order_key(value) >= key) mass += weight_of(value, largest, settings.temperature);
    });
    return mass;
  };
  if (settings.top_p < 1.0f) {
    const double total = static_cast<double>(group.sum(own_mass(floor_key)));
    const double share = settings.top_p > 0.0f ? settings.top_p : 0.0;
    const uint64_t wanted = static_cast<uint64_t>(total * share);
    floor_key = last_key_reaching(wanted > 0 ? wanted : 1, floor_key, uint64_t{top_key} + 1,
                                  [&](uint32_t key) { return group.sum(own_mass(key)); });
  }
  // The threads' elements one thread after the other are the order of the cumulative sum.
  const uint64_t mine = own_mass(floor_key);
  uint64_t total;
  const uint64_t before = group.sum_before(mine, total);
  const uint64_t drawn =
      multiply_high(random_bits(settings.seed, settings.step, row_number), total);
  uint64_t token = 0;
  if (drawn >= before && drawn - before < mine) {
    uint64_t passed = before;
    bool found = false;
    visit_row(group, row, columns, [&](int64_t index, float value) {
      if (found || order_key(value) < floor_key) return;
      passed += weight_of(value, largest, settings.temperature);
      if (passed > drawn) {
        token = static_cast<uint64_t>(index);
        found = true;
      }
    });
  }
  return static_cast<int64_t>(group.maximum(token));
}

}  // namespace enginewright

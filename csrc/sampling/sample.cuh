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

constexpr int64_t kMostColumns = int64_t{1} << 22;

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

// Which elements of a row a thread visits, and in which order: packets where the row is aligned, then
// what is left.
template <class T>
class RowOrder {
 public:
  EW_HD RowOrder(const T* row, int64_t columns, int64_t threads)
      : packets_(packets_of<T>(columns, is_packet_aligned(row))),
        threads_(threads) {}

  EW_HD int64_t packets() const { return packets_; }

  // Ascending in the order of the cumulative sum: one thread after the other.
  EW_HD uint64_t place(uint32_t index) const {
    const int64_t packed = packets_ * kPacketElements;
    const int64_t turn = index < packed ? index / kPacketElements : index - packed;
    return (static_cast<uint64_t>(turn % threads_) << 32) | index;
  }

 private:
  int64_t packets_, threads_;
};

// Calls `visit(index, value)` for the elements of this thread, always in the same order. `kAhead`
// packets are under way before the first is used.
template <int kAhead = 1, class T, class Group, class Visit>
EW_HD void visit_row(const Group& group, const T* row, int64_t columns, Visit visit) {
  const int64_t packets = RowOrder<T>(row, columns, group.size()).packets();
  const int64_t rank = group.rank(), size = group.size();
  if constexpr (kHasPackets<T>) {
    EW_ROLLED
    for (int64_t first = rank; first < packets; first += kAhead * size) {
      Packet held[kAhead];
      EW_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        if (first + k * size < packets) held[k] = load_packet(row, first + k * size);
      }
      EW_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        const int64_t index = first + k * size;
        if (index < packets) {
          EW_UNROLL
          for (int word = 0; word < 4; ++word) {
            const Pair<T> pair = unpack<T>(held[k].words[word]);
            visit(index * kPacketElements + 2 * word, pair.low);
            visit(index * kPacketElements + 2 * word + 1, pair.high);
          }
        }
      }
    }
  }
  EW_ROLLED
  for (int64_t first = packets * kPacketElements + rank; first < columns;
       first += kAhead * size) {
    T held[kAhead];
    EW_UNROLL
    for (int k = 0; k < kAhead; ++k) {
      if (first + k * size < columns) held[k] = row[first + k * size];
    }
    EW_UNROLL
    for (int k = 0; k < kAhead; ++k) {
      const int64_t index = first + k * size;
      if (index < columns) visit(index, to_float(held[k]));
    }
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

// Of the whole `mass`, the part that a nucleus must reach; at least the smallest weight.
EW_HD uint64_t wanted_mass(uint64_t mass, float top_p) {
  const double share = top_p > 0.0f ? top_p : 0.0;
  const uint64_t wanted = static_cast<uint64_t>(static_cast<double>(mass) * share);
  return wanted > 0 ? wanted : 1;
}

// The upper 64 bits of the product.
EW_HD uint64_t multiply_high(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
}

// Tokens that are likely enough to be looked at, in memory that the whole group sees.
class Candidates {
 public:
  static constexpr uint32_t kCapacity = 2048;

  EW_HD void clear() { count_ = 0; }

  // In any order; what is beyond the capacity is counted and not kept.
  EW_HD void add(uint32_t key, uint32_t index) {
#if defined(__CUDA_ARCH__)
    const uint32_t slot = atomicAdd(&count_, 1u);
#else
    const uint32_t slot = __atomic_fetch_add(&count_, 1u, __ATOMIC_RELAXED);
#endif
    if (slot < kCapacity) {
      keys[slot] = key;
      indices[slot] = index;
    }
  }

  EW_HD uint32_t count() const { return count_; }

  uint32_t keys[kCapacity];
  uint32_t indices[kCapacity];
  uint64_t weights[kCapacity];

 private:
  uint32_t count_;
};

struct Likeliest {
  uint32_t key;
  int64_t index;
  float logit;
};

// The least key that stays, found in the whole row: each step of the search reads all of it.
template <class T, class Group>
EW_HD uint32_t searched_floor(Group& group, const T* row, int64_t columns, const Likeliest& top,
                              const SamplingSettings& settings) {
  uint32_t floor_key = 1;  // without the NaNs
  if (settings.top_k > 0 && settings.top_k < columns) {
    floor_key = last_key_reaching(settings.top_k, floor_key, uint64_t{top.key} + 1,
                                  [&](uint32_t key) {
                                    uint64_t count = 0;
                                    visit_row(group, row, columns, [&](int64_t, float value) {
                                      count += order_key(value) >= key;
                                    });
                                    return group.sum(count);
                                  });
  }
  if (settings.top_p < 1.0f) {
    const auto mass = [&](uint32_t key) {
      uint64_t own = 0;
      visit_row(group, row, columns, [&](int64_t, float value) {
        if (order_key(value) >= key) own += weight_of(value, top.logit, settings.temperature);
      });
      return group.sum(own);
    };
    floor_key = last_key_reaching(wanted_mass(mass(floor_key), settings.top_p), floor_key,
                                  uint64_t{top.key} + 1, mass);
  }
  return floor_key;
}

// Draws among the elements of the row with at least `floor_key`.
template <class T, class Group>
EW_HD int64_t draw_from_row(Group& group, const T* row, int64_t columns, uint64_t row_number,
                            const Likeliest& top, uint32_t floor_key,
                            const SamplingSettings& settings) {
  const auto weigh = [&](float value) {
    return order_key(value) >= floor_key ? weight_of(value, top.logit, settings.temperature) : 0;
  };
  uint64_t mine = 0;
  visit_row(group, row, columns, [&](int64_t, float value) { mine += weigh(value); });
  // The threads' elements one thread after the other are the order of the cumulative sum.
  uint64_t total;
  const uint64_t before = group.sum_before(mine, total);
  const uint64_t drawn =
      multiply_high(random_bits(settings.seed, settings.step, row_number), total);
  uint64_t token = 0;
  if (drawn >= before && drawn - before < mine) {
    uint64_t passed = before;
    bool found = false;
    visit_row(group, row, columns, [&](int64_t index, float value) {
      if (found) return;
      passed += weigh(value);
      if (passed > drawn) {
        token = static_cast<uint64_t>(index);
        found = true;
      }
    });
  }
  return static_cast<int64_t>(group.maximum(token));
}

// Puts everything that can stay into `list`, in one reading of the row; false where it is too much.
// `own_key` is the largest key of this thread's elements. Of threads that have the `wanted` largest
// such keys, the least is a bound: as many elements, one of each of these threads, are not below it.
template <class T, class Group>
EW_HD bool collect(Group& group, Candidates& list, const T* row, int64_t columns, uint32_t own_key,
                   int64_t wanted, const Likeliest& top, const SamplingSettings& settings,
                   uint64_t& mass) {
  const uint32_t bound =
      last_key_reaching(wanted, 1, uint64_t{top.key} + 1,
                        [&](uint32_t key) { return uint64_t{group.count(own_key >= key)}; });
  group.wait();
  if (group.rank() == 0) list.clear();
  group.wait();
  const bool weigh = settings.top_k <= 0 || settings.top_k >= columns;
  uint64_t own = 0;
  visit_row<4>(group, row, columns, [&](int64_t index, float value) {
    const uint32_t key = order_key(value);
    if (key >= bound) list.add(key, static_cast<uint32_t>(index));
    if (weigh) own += weight_of(value, top.logit, settings.temperature);
  });
  mass = weigh ? group.sum(own) : 0;
  group.wait();
  return list.count() <= Candidates::kCapacity;
}

// Calls `visit(slot)` for this thread's slots.
template <class Group, class Visit>
EW_HD void visit_slots(const Group& group, const Candidates& list, Visit visit) {
  for (uint32_t slot = group.rank(); slot < list.count(); slot += group.size()) visit(slot);
}

// The least key among those that `stays(slot)` holds for, or 0xffffffff.
template <class Group, class Stays>
EW_HD uint32_t least_key(Group& group, const Candidates& list, Stays stays) {
  uint32_t best = 0;
  visit_slots(group, list, [&](uint32_t slot) {
    if (~list.keys[slot] > best && stays(slot)) best = ~list.keys[slot];
  });
  return ~static_cast<uint32_t>(group.maximum(uint64_t{best}));
}

// The least key that stays, found among the candidates; 0 where they do not reach `top_p` of `mass`,
// which is that of the row where top-k bounds nothing.
template <class T, class Group>
EW_HD uint32_t candidate_floor(Group& group, Candidates& list, const T* row, int64_t columns,
                               uint64_t mass, const Likeliest& top,
                               const SamplingSettings& settings) {
  uint32_t floor_key = 1;
  if (settings.top_k > 0 && settings.top_k < columns) {
    floor_key = least_key(group, list, [&](uint32_t slot) {
      int64_t above = 0;
      for (uint32_t other = 0; other < list.count(); ++other) {
        above += list.keys[other] > list.keys[slot];
      }
      return above < settings.top_k;
    });
  }
  uint64_t own = 0;
  visit_slots(group, list, [&](uint32_t slot) {
    const bool stays = list.keys[slot] >= floor_key;
    const float logit = to_float(row[list.indices[slot]]);
    list.weights[slot] = stays ? weight_of(logit, top.logit, settings.temperature) : 0;
    own += list.weights[slot];
  });
  const uint64_t kept = group.sum(own);
  group.wait();
  if (!(settings.top_p < 1.0f)) return floor_key;
  const uint64_t wanted =
      wanted_mass(settings.top_k > 0 && settings.top_k < columns ? kept : mass, settings.top_p);
  if (kept < wanted) return 0;
  return least_key(group, list, [&](uint32_t slot) {
    if (list.keys[slot] < floor_key) return false;
    uint64_t above = 0;
    for (uint32_t other = 0; other < list.count(); ++other) {
      if (list.keys[other] > list.keys[slot]) above += list.weights[other];
    }
    return above < wanted;
  });
}

// As `draw_from_row`, among the candidates: the same order, so the same token.
template <class T, class Group>
EW_HD int64_t draw_from_candidates(Group& group, const Candidates& list, const T* row,
                                   int64_t columns, uint64_t row_number, uint32_t floor_key,
                                   const SamplingSettings& settings) {
  const RowOrder<T> order(row, columns, group.size());
  uint64_t own = 0;
  visit_slots(group, list, [&](uint32_t slot) {
    if (list.keys[slot] >= floor_key) own += list.weights[slot];
  });
  const uint64_t drawn =
      multiply_high(random_bits(settings.seed, settings.step, row_number), group.sum(own));
  uint64_t token = 0;
  visit_slots(group, list, [&](uint32_t slot) {
    if (list.keys[slot] < floor_key) return;
    const uint64_t place = order.place(list.indices[slot]);
    uint64_t before = 0;
    for (uint32_t other = 0; other < list.count(); ++other) {
      if (list.keys[other] >= floor_key && order.place(list.indices[other]) < place) {
        before += list.weights[other];
      }
    }
    if (drawn >= before && drawn - before < list.weights[slot]) token = list.indices[slot];
  });
  return static_cast<int64_t>(group.maximum(token));
}

// The likeliest element of this thread: its key above the complement of its index, so that the lowest
// index wins a tie.
template <class T, class Group>
EW_HD uint64_t own_best(const Group& group, const T* row, int64_t columns) {
  uint64_t best = 0;
  visit_row<4>(group, row, columns, [&](int64_t index, float value) {
    const uint64_t entry = (uint64_t{order_key(value)} << 32) | (0xffffffffu - uint32_t(index));
    if (entry > best) best = entry;
  });
  return best;
}

template <class T>
EW_HD Likeliest likeliest_of(const T* row, uint64_t best) {
  const int64_t index = 0xffffffffu - static_cast<uint32_t>(best);
  return {static_cast<uint32_t>(best >> 32), index, to_float(row[index])};
}

// Returns the token in every thread of the group, which needs whole warps. `list` is null where the
// bounds are to be searched in the row; the token is the same.
template <class T, class Group>
EW_HD int64_t sample_row(Group& group, Candidates* list, const T* row, int64_t columns,
                         uint64_t row_number, const SamplingSettings& settings) {
  const uint64_t own = own_best(group, row, columns);
  const Likeliest top = likeliest_of(row, group.maximum(own));
  if (settings.temperature <= 0.0f || top.key == 0) return top.index;
  uint32_t floor_key = 1;
  const bool few = settings.top_k > 0 && settings.top_k < columns;
  if (few || settings.top_p < 1.0f) {
    // Without top-k: room for a nucleus of some hundred tokens.
    const int64_t wanted = few ? settings.top_k : (group.size() + 3) / 4;
    uint64_t mass = 0;
    if (list && wanted <= group.size() &&
        collect(group, *list, row, columns, static_cast<uint32_t>(own >> 32), wanted, top,
                settings, mass)) {
      floor_key = candidate_floor(group, *list, row, columns, mass, top, settings);
      if (floor_key != 0) {
        return draw_from_candidates(group, *list, row, columns, row_number, floor_key, settings);
      }
    }
    floor_key = searched_floor(group, row, columns, top, settings);
  }
  return draw_from_row(group, row, columns, row_number, top, floor_key, settings);
}

// A thread of a group of others that are not there.
struct StandIn {
  int64_t number, threads;

  EW_HD int64_t rank() const { return number; }
  EW_HD int64_t size() const { return threads; }
};

// On one thread, the token that a group of `threads` draws. `Alone` is `LoneGroup`.
template <class Alone, class T>
EW_HD int64_t sample_row_alone(Alone alone, const T* row, int64_t columns, uint64_t row_number,
                         int64_t threads, const SamplingSettings& settings) {
  const Likeliest top = likeliest_of(row, own_best(alone, row, columns));
  if (settings.temperature <= 0.0f || top.key == 0) return top.index;
  const uint32_t floor_key = searched_floor(alone, row, columns, top, settings);
  uint64_t passed = 0;
  const auto weigh = [&](float value) {
    return order_key(value) >= floor_key ? weight_of(value, top.logit, settings.temperature) : 0;
  };
  visit_row(alone, row, columns, [&](int64_t, float value) { passed += weigh(value); });
  const uint64_t drawn =
      multiply_high(random_bits(settings.seed, settings.step, row_number), passed);
  passed = 0;
  int64_t token = -1;
  for (int64_t rank = 0; rank < threads && token < 0; ++rank) {
    visit_row(StandIn{rank, threads}, row, columns, [&](int64_t index, float value) {
      passed += weigh(value);
      if (token < 0 && passed > drawn) token = index;
    });
  }
  return token;
}

}  // namespace enginewright

// Philox4x32-10, a counter-based generator (Salmon et al. 2011, "Parallel random numbers: as easy
// as 1, 2, 3"): the same counter and key give the same words everywhere, in any order.
#pragma once

#include "common/element.cuh"

namespace enginewright {

struct PhiloxWords {
  uint32_t word[4];
};

EW_HD PhiloxWords philox(PhiloxWords counter, uint32_t key_low, uint32_t key_high) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t{0xD2511F53u} * counter.word[0];
    const uint64_t odd = uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<uint32_t>(odd >> 32) ^ counter.word[1] ^ key_low,
                static_cast<uint32_t>(odd),
                static_cast<uint32_t>(even >> 32) ^ counter.word[3] ^ key_high,
                static_cast<uint32_t>(even)}};
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return counter;
}

// 64 random bits of one row at one step of a generation.
EW_HD uint64_t random_bits(uint64_t seed, uint64_t step, uint64_t row) {
  const PhiloxWords words =
      philox({{static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32),
               static_cast<uint32_t>(row), static_cast<uint32_t>(row >> 32)}},
             static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  return (uint64_t{words.word[1]} << 32) | words.word[0];
}

}  // namespace enginewright

// Masked mean pooling and L2 normalisation of token embeddings (Reimers and Gurevych 2019,
// "Sentence-BERT"): mean over the tokens whose mask is not zero, divided by its Euclidean length.
// An item without any token gives zeros. Float32 sums in an order that the block shape and the
// number of splits fix, float32 results.
#pragma once

#include "common/element.cuh"

namespace enginewright {

constexpr int kRun = 8;  // tokens that a thread has under way together

// Runs of tokens, the first at `first`, one every `step` tokens, none beyond `end`.
struct TokenRange {
  int64_t first, end, step;
};

// Bit k says whether token k of a run counts, of which `left` are there.
EW_HD uint32_t load_mask(const int64_t* run, int64_t left) {
  const int there = left < kRun ? static_cast<int>(left) : kRun;
  uint32_t counted = 0;
  EW_UNROLL
  for (int k = 0; k < kRun; ++k) {
    if (k < there && run[k] != 0) counted |= 1u << k;
  }
  return counted;
}

EW_HD int count_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

// Adds the tokens of the range to the eight columns of packet `index`; returns how many there were.
// Masked tokens are not read.
template <class T>
EW_HD uint32_t masked_sum_packet(const T* x, const int64_t* mask, int64_t stride, TokenRange tokens,
                             int64_t index, float (&sums)[kPacketElements]) {
  const T* from = x + tokens.first * stride + index * kPacketElements;
  const int64_t* run = mask + tokens.first;
  int64_t left = tokens.end - tokens.first;
  uint32_t counted = load_mask(run, left);
  uint32_t total = 0;  // of one thread: a mask of 2^32 tokens takes 32 GiB
  EW_ROLLED
  while (left > 0) {
    Packet packets[kRun];
    EW_UNROLL
    for (int k = 0; k < kRun; ++k) {
      if (counted & (1u << k)) packets[k] = load_packet_once(from + k * stride);
    }
    from += tokens.step * stride;
    run += tokens.step;
    left -= tokens.step;
    // The mask of the next run arrives together with these.
    const uint32_t next = load_mask(run, left);
    EW_UNROLL
    for (int k = 0; k < kRun; ++k) {
      if (counted & (1u << k)) {
        EW_UNROLL
        for (int word = 0; word < 4; ++word) {
          const Pair<T> value = unpack<T>(packets[k].words[word]);
          sums[2 * word] += value.low;
          sums[2 * word + 1] += value.high;
        }
      }
    }
    total += count_bits(counted);
    counted = next;
  }
  return total;
}

template <class T>
EW_HD float masked_sum_element(const T* x, const int64_t* mask, int64_t stride,
                               TokenRange tokens, int64_t column) {
  float sum = 0.0f;
  EW_ROLLED
  for (int64_t token = tokens.first; token < tokens.end; token += tokens.step) {
    EW_ROLLED
    for (int k = 0; k < kRun; ++k) {
      if (token + k < tokens.end && mask[token + k] != 0) {
        sum += to_float(x[(token + k) * stride + column]);
      }
    }
  }
  return sum;
}

EW_HD uint64_t count_tokens(const int64_t* mask, TokenRange tokens) {
  uint64_t counted = 0;
  EW_ROLLED
  for (int64_t token = tokens.first; token < tokens.end; token += tokens.step) {
    counted += count_bits(load_mask(mask + token, tokens.end - token));
  }
  return counted;
}

// Sums the `splits` partial sums of an item in order, divides by the token count, which is the sum
// of `counted` over the group, and normalises where asked. `partial` is [splits, columns]; its first
// row is used as scratch and may be `y`.
template <class Group>
EW_HD void finish_pool(Group& group, float* partial, uint64_t counted, float* y, int64_t splits,
                       int64_t columns, bool normalize) {
  const int64_t rank = group.rank(), size = group.size();
  const uint64_t tokens = group.sum(counted);
  const float share = tokens == 0 ? 0.0f : 1.0f / static_cast<float>(tokens);
  float squares = 0.0f;
  EW_ROLLED
  for (int64_t column = rank; column < columns; column += size) {
    float sum = 0.0f;
    EW_UNROLL_BY_EIGHT
    for (int64_t split = 0; split < splits; ++split) sum += partial[split * columns + column];
    const float mean = sum * share;
    partial[column] = mean;
    squares += mean * mean;
  }
  const float length = square_root(group.sum(squares));
  // 1e-12 is the floor of torch.nn.functional.normalize.
  const float scale = normalize ? 1.0f / (length < 1e-12f ? 1e-12f : length) : 1.0f;
  EW_ROLLED
  for (int64_t column = rank; column < columns; column += size) {
    y[column] = partial[column] * scale;
  }
}

}  // namespace enginewright

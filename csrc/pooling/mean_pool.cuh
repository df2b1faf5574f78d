// Masked mean pooling and L2 normalisation of token embeddings (Reimers and Gurevych 2019,
// "Sentence-BERT"): mean over the tokens whose mask is not zero, divided by its Euclidean length.
// An item without any token gives zeros. Float32 sums in an order that the block shape and the
// number of splits fix, float32 results.
#pragma once

#include "common/element.cuh"

namespace enginewright {

struct TokenRange {
  int64_t first, end, step;
};

// Bit k says whether token `first + k * step` of the range counts.
template <int kCount>
EW_HD uint32_t load_mask(const int64_t* mask, TokenRange tokens, int64_t first) {
  uint32_t counted = 0;
  EW_UNROLL
  for (int k = 0; k < kCount; ++k) {
    const int64_t token = first + k * tokens.step;
    if (token < tokens.end && mask[token] != 0) counted |= 1u << k;
  }
  return counted;
}

// Adds the tokens of the range to the eight columns of packet `index`. Masked tokens are not read.
template <class T>
EW_HD void masked_sum_packet(const T* x, const int64_t* mask, int64_t stride, TokenRange tokens,
                             int64_t index, float (&sums)[kPacketElements]) {
  constexpr int kAtOnce = 4;  // independent loads under way
  uint32_t counted = load_mask<kAtOnce>(mask, tokens, tokens.first);
  for (int64_t first = tokens.first; first < tokens.end; first += kAtOnce * tokens.step) {
    Packet packets[kAtOnce];
    EW_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (counted & (1u << k)) {
        packets[k] = load_packet(x + (first + k * tokens.step) * stride, index);
      }
    }
    // The mask of the next tokens arrives together with these.
    const uint32_t next = load_mask<kAtOnce>(mask, tokens, first + kAtOnce * tokens.step);
    EW_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (counted & (1u << k)) {
        EW_UNROLL
        for (int word = 0; word < 4; ++word) {
          const Pair<T> value = unpack<T>(packets[k].words[word]);
          sums[2 * word] += value.low;
          sums[2 * word + 1] += value.high;
        }
      }
    }
    counted = next;
  }
}

template <class T>
EW_HD float masked_sum_element(const T* x, const int64_t* mask, int64_t stride,
                               TokenRange tokens, int64_t column) {
  float sum = 0.0f;
  for (int64_t token = tokens.first; token < tokens.end; token += tokens.step) {
    if (mask[token] != 0) sum += to_float(x[token * stride + column]);
  }
  return sum;
}

// Sums the `splits` partial sums of an item in order, divides by the token count, and normalises
// where asked. `partial` is [splits, columns]; its first row is used as scratch.
template <class Group>
EW_HD void finish_pool(Group& group, float* partial, const int64_t* mask, float* y,
                       int64_t splits, int64_t sequence, int64_t columns, bool normalize) {
  const int64_t rank = group.rank(), size = group.size();
  uint64_t counted = 0;
  for (int64_t token = rank; token < sequence; token += size) counted += mask[token] != 0;
  const uint64_t tokens = group.sum(counted);
  const float share = tokens == 0 ? 0.0f : 1.0f / static_cast<float>(tokens);
  float squares = 0.0f;
  for (int64_t column = rank; column < columns; column += size) {
    float sum = 0.0f;
    for (int64_t split = 0; split < splits; ++split) sum += partial[split * columns + column];
    const float mean = sum * share;
    partial[column] = mean;
    squares += mean * mean;
  }
  const float length = square_root(group.sum(squares));
  // 1e-12 is the floor of torch.nn.functional.normalize.
  const float scale = normalize ? 1.0f / (length < 1e-12f ? 1e-12f : length) : 1.0f;
  for (int64_t column = rank; column < columns; column += size) {
    y[column] = partial[column] * scale;
  }
}

}  // namespace enginewright

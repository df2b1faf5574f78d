// Elements of tensors: float16 and bfloat16 as 16-bit patterns, float32 as it is, and packets of
// 16 bytes. Everything here runs on the device and on the CPU; arithmetic is always in float32.
#pragma once

#include <stdint.h>
#include <string.h>

#include <type_traits>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define EW_HD __host__ __device__ __forceinline__
#define EW_UNROLL _Pragma("unroll")
#define EW_UNROLL_BY_EIGHT _Pragma("unroll 8")
#define EW_ROLLED _Pragma("unroll 1")
#else
#include <cmath>
#define EW_HD inline
#define EW_UNROLL
#define EW_UNROLL_BY_EIGHT
#define EW_ROLLED
#endif

namespace enginewright {

struct Float16 {
  uint16_t bits;
};

struct BFloat16 {
  uint16_t bits;
};

EW_HD uint32_t float_bits(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}

EW_HD float bits_float(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

EW_HD float to_float(float value) { return value; }

EW_HD float to_float(BFloat16 value) { return bits_float(uint32_t{value.bits} << 16); }

EW_HD float to_float(Float16 value) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(value.bits));
#else
  const uint32_t sign = uint32_t{value.bits & 0x8000u} << 16;
  const uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const uint32_t fraction = value.bits & 0x3ffu;
  if (exponent == 0x1fu) return bits_float(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return bits_float(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-8f;  // 2^-24
  return sign ? -magnitude : magnitude;
#endif
}

// Rounds to nearest, ties to even, as the device does; NaN stays NaN.
template <class T>
EW_HD T from_float(float value);

template <>
EW_HD float from_float<float>(float value) {
  return value;
}

template <>
EW_HD BFloat16 from_float<BFloat16>(float value) {
#if defined(__CUDA_ARCH__)
  return BFloat16{__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
  const uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return BFloat16{0x7fffu};
  return BFloat16{static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
#endif
}

template <>
EW_HD Float16 from_float<Float16>(float value) {
#if defined(__CUDA_ARCH__)
  return Float16{__half_as_ushort(__float2half_rn(value))};
#else
  const uint32_t bits = float_bits(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return Float16{static_cast<uint16_t>(sign | 0x7fffu)};
  if (magnitude >= 0x477ff000u) return Float16{static_cast<uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {
    // Below the normal range: adding 0.5 leaves multiples of 2^-24 in the low bits, rounded.
    const uint32_t rounded = float_bits(bits_float(magnitude) + 0.5f) - float_bits(0.5f);
    return Float16{static_cast<uint16_t>(sign | rounded)};
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23);
  return Float16{static_cast<uint16_t>(sign | (rounded >> 13))};
#endif
}

// Whether eight elements are moved by one access. Code for packets compiles for other types too and
// has none to work on: `packets_of` is 0.
template <class T>
constexpr bool kHasPackets = sizeof(T) == 2;

// Two neighbours of a packet, the lower address in the low half.
template <class T>
struct Pair {
  float low, high;
};

template <class T>
EW_HD Pair<T> unpack(uint32_t word) {
  if constexpr (!kHasPackets<T>) {
    return {};
  } else {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, Float16>) {
    const __half2 halves = __halves2half2(__ushort_as_half(static_cast<uint16_t>(word)),
                                          __ushort_as_half(static_cast<uint16_t>(word >> 16)));
    const float2 both = __half22float2(halves);
    return {both.x, both.y};
  } else {
    return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
  }
#else
  return {to_float(T{static_cast<uint16_t>(word)}), to_float(T{static_cast<uint16_t>(word >> 16)})};
#endif
  }
}

template <class T>
EW_HD uint32_t pack(float low, float high) {
  if constexpr (!kHasPackets<T>) {
    return 0;
  } else {
#if defined(__CUDA_ARCH__)
  // One instruction converts both, where two single conversions also need a merge.
  if constexpr (std::is_same_v<T, Float16>) {
    const __half2 both = __floats2half2_rn(low, high);
    return uint32_t{__half_as_ushort(__low2half(both))} |
           (uint32_t{__half_as_ushort(__high2half(both))} << 16);
  } else {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return uint32_t{__bfloat16_as_ushort(__low2bfloat16(both))} |
           (uint32_t{__bfloat16_as_ushort(__high2bfloat16(both))} << 16);
  }
#else
  return uint32_t{from_float<T>(low).bits} | (uint32_t{from_float<T>(high).bits} << 16);
#endif
  }
}

#if defined(__CUDACC__)
#define EW_PACKET alignas(16)
#else
#define EW_PACKET __attribute__((aligned(16), may_alias))
#endif

// Eight 16-bit elements, moved by one 16-byte access. It may alias the elements it is made of.
struct EW_PACKET Packet {
  uint32_t words[4];
};

// Four floats, likewise.
struct EW_PACKET FloatPacket {
  float values[4];
};

constexpr int kPacketElements = 8;

EW_HD bool is_packet_aligned(const void* pointer) {
  return (reinterpret_cast<uintptr_t>(pointer) & 15u) == 0;
}

// How many packets a row has that can be moved as such.
template <class T>
EW_HD int64_t packets_of(int64_t columns, bool aligned) {
  return kHasPackets<T> && aligned ? columns / kPacketElements : 0;
}

template <class T>
EW_HD Packet load_packet(const T* elements, int64_t index) {
  return reinterpret_cast<const Packet*>(elements)[index];
}

// What nobody reads again need not stay in a cache.
template <class T>
EW_HD Packet load_packet_once(const T* elements) {
#if defined(__CUDA_ARCH__)
  const uint4 words = __ldcs(reinterpret_cast<const uint4*>(elements));
  return Packet{{words.x, words.y, words.z, words.w}};
#else
  return load_packet(elements, 0);
#endif
}

template <class T>
EW_HD void store_packet(T* elements, int64_t index, const Packet& packet) {
  reinterpret_cast<Packet*>(elements)[index] = packet;
}

// Rounded down, of numbers that are not negative. A device has no 64-bit division: where the numbers
// are small, and they nearly always are, the 32-bit one is several times faster.
EW_HD int64_t divide(int64_t numerator, int64_t denominator) {
  if (((numerator | denominator) >> 32) == 0) {
    return static_cast<uint32_t>(numerator) / static_cast<uint32_t>(denominator);
  }
  return numerator / denominator;
}

EW_HD float reciprocal_sqrt(float value) {
#if defined(__CUDA_ARCH__)
  return rsqrtf(value);
#else
  return 1.0f / std::sqrt(value);
#endif
}

// The fast device form is within 2 ulp plus 1 ulp per unit of the argument's magnitude.
EW_HD float fast_exp(float value) {
#if defined(__CUDA_ARCH__)
  return __expf(value);
#else
  return std::exp(value);
#endif
}

EW_HD float exact_exp(float value) {
#if defined(__CUDA_ARCH__)
  return expf(value);
#else
  return std::exp(value);
#endif
}

EW_HD float square_root(float value) {
#if defined(__CUDA_ARCH__)
  return sqrtf(value);
#else
  return std::sqrt(value);
#endif
}

}  // namespace enginewright

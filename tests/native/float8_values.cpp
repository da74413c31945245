// All conversions of cuda_fp8.h as bytes on stdout. Compiled twice, with the host device's header
// and with CUDA's own, the reference on hosts: the outputs must be equal.
#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

namespace {

template <class Value>
void put(const Value& value) {
  fwrite(&value, sizeof value, 1, stdout);
}

template <class Value, class Bits>
Value from_bits(Bits bits) {
  static_assert(sizeof(Value) == sizeof(Bits), "the same size");
  Value value;
  memcpy(static_cast<void*>(&value), &bits, sizeof value);
  return value;
}

uint64_t random_bits() {
  static uint64_t state = 88172645463325252ull;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

constexpr __nv_saturation_t saturations[] = {__NV_NOSAT, __NV_SATFINITE};
constexpr __nv_fp8_interpretation_t formats[] = {__NV_E4M3, __NV_E5M2};

void put_double(double value) {
  for (const auto saturation : saturations) {
    for (const auto format : formats) {
      put(__nv_cvt_double_to_fp8(value, saturation, format));
      put(__nv_cvt_double2_to_fp8x2(make_double2(value, -value), saturation, format));
    }
  }
  put(__nv_fp8_e4m3(value).__x);
  put(__nv_fp8_e5m2(value).__x);
  put(__nv_fp8x2_e4m3(make_double2(value, 1.0)).__x);
  put(__nv_fp8x4_e5m2(double4_32a{1.0, value, 2.0, -value}).__x);
  put(__nv_fp8x4_e4m3(double4_16a{value, 3.0, -value, 4.0}).__x);
}

void put_float(float value) {
  for (const auto saturation : saturations) {
    for (const auto format : formats) {
      put(__nv_cvt_float_to_fp8(value, saturation, format));
      put(__nv_cvt_float2_to_fp8x2(make_float2(value, -value), saturation, format));
    }
  }
  put(__nv_fp8_e4m3(value).__x);
  put(__nv_fp8_e5m2(value).__x);
  put(__nv_fp8x2_e5m2(make_float2(2.0f, value)).__x);
  put(__nv_fp8x4_e4m3(make_float4(1.0f, value, 2.0f, -value)).__x);
}

void put_half(uint16_t bits) {
  const __half half = from_bits<__half>(bits);
  const __nv_bfloat16 bfloat16 = from_bits<__nv_bfloat16>(bits);
  const __half2 halves = __halves2half2(half, __float2half(3.0f));
  const __nv_bfloat162 bfloats = __halves2bfloat162(__float2bfloat16(3.0f), bfloat16);
  for (const auto saturation : saturations) {
    for (const auto format : formats) {
      put(__nv_cvt_halfraw_to_fp8(half, saturation, format));
      put(__nv_cvt_bfloat16raw_to_fp8(bfloat16, saturation, format));
      put(__nv_cvt_halfraw2_to_fp8x2(halves, saturation, format));
      put(__nv_cvt_bfloat16raw2_to_fp8x2(bfloats, saturation, format));
    }
  }
  put(__nv_fp8_e4m3(half).__x);
  put(__nv_fp8_e5m2(bfloat16).__x);
  put(__nv_fp8x2_e4m3(halves).__x);
  put(__nv_fp8x2_e5m2(bfloats).__x);
  put(__nv_fp8x4_e4m3(halves, halves).__x);
  put(__nv_fp8x4_e5m2(bfloats, bfloats).__x);
}

template <class Float8>
void put_decoded(uint8_t bits) {
  const Float8 value = from_bits<Float8>(bits);
  put(float(value));
  put(double(value));
  put(__half(value));
  put(__nv_bfloat16(value));
  put(bool(value));
  put(static_cast<unsigned char>(value));
  put(static_cast<signed char>(value));
  put(static_cast<char>(value));
  put(static_cast<short>(value));
  put(static_cast<unsigned short>(value));
  put(static_cast<int>(value));
  put(static_cast<unsigned int>(value));
  put(static_cast<long>(value));
  put(static_cast<unsigned long>(value));
  put(static_cast<long long>(value));
  put(static_cast<unsigned long long>(value));
}

template <class Integer>
void put_integer(uint64_t bits) {
  const auto value = static_cast<Integer>(bits);
  put(__nv_fp8_e4m3(value).__x);
  put(__nv_fp8_e5m2(value).__x);
}

void put_vectors(uint16_t bits) {
  put(float2(from_bits<__nv_fp8x2_e4m3>(bits)));
  put(float2(from_bits<__nv_fp8x2_e5m2>(bits)));
  put(__half2(from_bits<__nv_fp8x2_e4m3>(bits)));
  put(__half2(from_bits<__nv_fp8x2_e5m2>(bits)));
  const uint32_t four = bits | static_cast<uint32_t>(bits) * 40503u << 16;
  put(float4(from_bits<__nv_fp8x4_e4m3>(four)));
  put(float4(from_bits<__nv_fp8x4_e5m2>(four)));
  for (const auto format : formats) put(__nv_cvt_fp8x2_to_halfraw2(bits, format));
}

// The values of a format, the points between two of them, and their neighbours.
template <class Float8>
void put_neighbourhood(int steps) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const double value = double(from_bits<Float8>(static_cast<uint8_t>(bits)));
    const double other = double(from_bits<Float8>(static_cast<uint8_t>(bits ^ 1)));
    for (const double point : {value, (value + other) / 2, value * 1.0625}) {
      for (int step = -steps; step <= steps; ++step) {
        put_double(from_bits<double>(from_bits<uint64_t>(point) + static_cast<uint64_t>(step)));
        const auto single = from_bits<uint32_t>(static_cast<float>(point));
        put_float(from_bits<float>(single + static_cast<uint32_t>(step)));
      }
    }
  }
}

}  // namespace

int main() {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    put_decoded<__nv_fp8_e4m3>(static_cast<uint8_t>(bits));
    put_decoded<__nv_fp8_e5m2>(static_cast<uint8_t>(bits));
    for (const auto format : formats) {
      put(__nv_cvt_fp8_to_halfraw(static_cast<uint8_t>(bits), format));
    }
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    put_half(static_cast<uint16_t>(bits));
    put_vectors(static_cast<uint16_t>(bits));
    put_integer<short>(bits);
    put_integer<unsigned short>(bits);
  }
  put_neighbourhood<__nv_fp8_e4m3>(2);
  put_neighbourhood<__nv_fp8_e5m2>(2);
  for (int round = 0; round < 50000; ++round) {
    const uint64_t bits = random_bits();
    put_double(from_bits<double>(bits));
    // Exponents that the formats have.
    put_double(from_bits<double>((bits & 0x801fffffffffffffull) | (0x3ecull + bits % 40) << 52));
    put_float(from_bits<float>(static_cast<uint32_t>(bits)));
    const uint64_t integer = bits >> (bits % 64);
    put_integer<int>(integer);
    put_integer<unsigned int>(integer);
    put_integer<long>(integer);
    put_integer<unsigned long>(~integer);
    put_integer<long long>(~integer);
    put_integer<unsigned long long>(integer);
  }
  return 0;
}

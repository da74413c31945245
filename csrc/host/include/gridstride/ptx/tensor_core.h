// The instructions of tensor cores, mma.sync, ldmatrix and stmatrix, and copies to shared memory,
// for inline PTX. Which lane holds which element follows the PTX ISA.
#pragma once

#include <stddef.h>

#include "../collectives.h"
#include "../special_registers.h"

namespace gridstride::ptx {

// ---- addresses of shared memory ----------------------------------------------------------------

// 32-bit addresses of shared memory. Dynamic shared memory lies in the worker's region, static
// shared memory beside this variable: both are thread-local variables of one module.
[[maybe_unused]] static thread_local char shared_anchor;
inline constexpr uint64_t static_window = 0xc0000000u;
// The start of a region holds the state of the block.
inline constexpr uint64_t dynamic_window = 0x00200000u;

// Opaque: g++ folds the window into the relocation of a thread-local address, which it overflows.
__attribute__((always_inline)) static inline uint64_t shared_origin() {
  auto address = reinterpret_cast<uint64_t>(&shared_anchor);
  __asm__("" : "+r"(address));
  return address - static_window;
}

__attribute__((always_inline)) static inline uint64_t to_shared(uint64_t address) {
  const uint64_t offset = address - reinterpret_cast<uint64_t>(host::block_registers());
  return offset < host::region_bytes ? offset : static_cast<uint32_t>(address - shared_origin());
}

// An address outside of both windows faults where it is used; one of 64 bits stays as it is.
__attribute__((always_inline)) static inline uint64_t from_shared(uint64_t address) {
  if (address >> 31 == 1) return shared_origin() + address;
  if (address < dynamic_window || address >= host::region_bytes) return address;
  return reinterpret_cast<uint64_t>(host::block_registers()) + address;
}

// Copies at once. Bytes beyond those of the source are zeros.
GS_HOST_INLINE void copy_async(uint64_t to, uint64_t from, uint32_t bytes, uint32_t source_bytes) {
  const uint32_t copied = source_bytes < bytes ? source_bytes : bytes;
  if (((to | from) & (bytes - 1)) != 0) gs_host_trap("cp.async got an address that is not aligned");
  __builtin_memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), copied);
  __builtin_memset(reinterpret_cast<char*>(to) + copied, 0, bytes - copied);
}

// ---- elements ----------------------------------------------------------------------------------

enum class Format { f16, bf16, tf32, e4m3, e5m2, s8, u8, f64, f32, s32 };

constexpr unsigned int bits_of(Format format) {
  switch (format) {
    case Format::f16:
    case Format::bf16:
      return 16;
    case Format::e4m3:
    case Format::e5m2:
    case Format::s8:
    case Format::u8:
      return 8;
    case Format::f64:
      return 64;
    default:
      return 32;
  }
}

// A small float. The exponent of all ones is infinity or NaN, but in e4m3, whose last value is NaN.
template <int exponent_bits, int fraction_bits, bool has_infinity>
inline double small_float(uint32_t bits) {
  constexpr uint32_t last = (1u << exponent_bits) - 1;
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t exponent = bits >> fraction_bits & last;
  const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1.0 : 1.0;
  if (has_infinity && exponent == last) {
    return fraction != 0 ? __builtin_nan("") : sign * __builtin_inf();
  }
  if (!has_infinity && exponent == last && fraction + 1 == 1u << fraction_bits) {
    return __builtin_nan("");
  }
  const uint32_t digits = exponent == 0 ? fraction : fraction | 1u << fraction_bits;
  const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - bias - fraction_bits;
  return sign * digits * __builtin_ldexp(1.0, power);
}

// Exact for every format.
template <Format format>
inline double decoded(uint64_t word) {
  const auto bits = static_cast<uint32_t>(word);
  switch (format) {
    case Format::f16:
      return small_float<5, 10, true>(bits & 0xffff);
    case Format::bf16:
      return __builtin_bit_cast(float, bits << 16);
    case Format::tf32:
      // The last 13 bits of the register are not read.
      return __builtin_bit_cast(float, bits & ~0x1fffu);
    case Format::e4m3:
      return small_float<4, 3, false>(bits & 0xff);
    case Format::e5m2:
      return small_float<5, 2, true>(bits & 0xff);
    case Format::s8:
      return static_cast<signed char>(bits);
    case Format::u8:
      return static_cast<unsigned char>(bits);
    case Format::f64:
      return __builtin_bit_cast(double, word);
    case Format::f32:
      return __builtin_bit_cast(float, bits);
    default:
      return static_cast<int32_t>(bits);
  }
}

// To nearest, of ties to even.
inline uint32_t half_of(double value) {
  const uint32_t sign = __builtin_signbit(value) ? 0x8000u : 0u;
  const double magnitude = __builtin_fabs(value);
  if (value != value) return 0x7fffu;
  if (magnitude >= 65520.0) return sign | 0x7c00u;
  int exponent = 0;
  if (magnitude != 0) __builtin_frexp(magnitude, &exponent);
  const int power = (exponent < -13 || magnitude == 0 ? -13 : exponent) - 11;
  const auto digits = static_cast<uint32_t>(__builtin_rint(__builtin_ldexp(magnitude, -power)));
  // 1024 digits are the implied bit of the exponent 1, to which a carry adds.
  return sign | (digits + (static_cast<uint32_t>(power + 24) << 10));
}

template <Format format, bool saturates>
inline uint64_t encoded(double value) {
  if constexpr (format == Format::f64) return __builtin_bit_cast(uint64_t, value);
  if constexpr (format == Format::f32) {
    return __builtin_bit_cast(uint32_t, static_cast<float>(value));
  }
  if constexpr (format == Format::f16) return half_of(value);
  // Sums of integers are exact in a double: K is at most 32.
  if (saturates && value > 2147483647.0) return 0x7fffffffu;
  if (saturates && value < -2147483648.0) return 0x80000000u;
  return static_cast<uint32_t>(static_cast<int64_t>(value));
}

// ---- mma.sync ----------------------------------------------------------------------------------

using Register = unsigned long long;

// The registers of one lane.
struct MatrixRegisters {
  Register *d, *a, *b, *c;
};

// A register holds elements next to each other: 4 lanes hold a chunk of a row of A. The registers
// of A are the rows `lane / 4` and 8 below, chunk by chunk; those of B are columns likewise.
template <int M, int K, Format FA, Format FB, Format FC, Format FD, bool saturates>
void complete_mma(host::LaneSlot* lanes, uint32_t participants) {
  if (participants != 0xffffffffu) gs_host_trap("mma.sync needs all 32 lanes of the warp");
  constexpr int packed = bits_of(FA) == 64 ? 1 : static_cast<int>(32 / bits_of(FA));
  constexpr int chunks = K / (4 * packed);
  constexpr int rows = M / 8;
  double a[M][K], b[K][8];
  MatrixRegisters lane[32];
  for (int l = 0; l < 32; ++l) {
    lane[l] = *reinterpret_cast<const MatrixRegisters*>(lanes[l].value);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int i = 0; i < packed; ++i) {
        const int k = 4 * packed * chunk + l % 4 * packed + i;
        const unsigned int shift = static_cast<unsigned int>(i) * (bits_of(FA) & 31);
        for (int row = 0; row < rows; ++row) {
          a[l / 4 + 8 * row][k] = decoded<FA>(lane[l].a[chunk * rows + row] >> shift);
        }
        b[k][l / 4] = decoded<FB>(lane[l].b[chunk] >> shift);
      }
    }
  }
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 2 * rows; ++i) {
      const int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
      const unsigned int shift = 16u * (i % 2);
      double sum = decoded<FC>(FC == Format::f16 ? lane[l].c[i / 2] >> shift : lane[l].c[i]);
      for (int k = 0; k < K; ++k) {
        // Of doubles, every product is added with one rounding; other products are exact.
        sum = FA == Format::f64 ? __builtin_fma(a[row][k], b[k][column], sum)
                                : sum + a[row][k] * b[k][column];
      }
      const uint64_t bits = encoded<FD, saturates>(sum);
      if constexpr (FD == Format::f16) {
        lane[l].d[i / 2] = shift == 0 ? bits : lane[l].d[i / 2] | bits << shift;
      } else {
        lane[l].d[i] = bits;
      }
    }
  }
}

template <int M, int K, Format FA, Format FB, Format FC, Format FD, bool saturates>
inline constexpr host::CollectiveOperation matrix_product{
    "mma.sync", complete_mma<M, K, FA, FB, FC, FD, saturates>};

template <int M, int K, Format FA, Format FB, Format FC, Format FD, bool saturates>
GS_HOST_INLINE void mma(Register* d, Register* a, Register* b, Register* c) {
  MatrixRegisters registers = {d, a, b, c};
  host::warp_collective(0xffffffffu, reinterpret_cast<uint64_t>(&registers), 0,
                        matrix_product<M, K, FA, FB, FC, FD, saturates>);
}

// ---- ldmatrix, stmatrix ------------------------------------------------------------------------

// The address of a row that a lane names, and its registers.
struct MatrixRows {
  uint64_t address;
  Register* registers;
};

template <int count, bool transposed>
void complete_load(host::LaneSlot* lanes, uint32_t participants) {
  if (participants != 0xffffffffu) gs_host_trap("ldmatrix needs all 32 lanes of the warp");
  const auto of = [=](int lane) { return reinterpret_cast<const MatrixRows*>(lanes[lane].value); };
  for (int matrix = 0; matrix < count; ++matrix) {
    uint16_t elements[8][8];
    for (int row = 0; row < 8; ++row) {
      const uint64_t address = of(8 * matrix + row)->address;
      if (address % 16 != 0) gs_host_trap("ldmatrix got the address of a row that is not aligned");
      __builtin_memcpy(elements[row], reinterpret_cast<const void*>(address), 16);
    }
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      const uint32_t low = transposed ? elements[column][row] : elements[row][column];
      const uint32_t high = transposed ? elements[column + 1][row] : elements[row][column + 1];
      of(lane)->registers[matrix] = low | high << 16;
    }
  }
}

template <int count, bool transposed>
inline constexpr host::CollectiveOperation matrix_load{"ldmatrix",
                                                       complete_load<count, transposed>};

template <int count, bool transposed>
GS_HOST_INLINE void load_matrix(uint64_t address, Register* registers) {
  MatrixRows rows = {address, registers};
  host::warp_collective(0xffffffffu, reinterpret_cast<uint64_t>(&rows), 0,
                        matrix_load<count, transposed>);
}

template <int count, bool transposed>
void complete_store(host::LaneSlot* lanes, uint32_t participants) {
  if (participants != 0xffffffffu) gs_host_trap("stmatrix needs all 32 lanes of the warp");
  const auto of = [=](int lane) { return reinterpret_cast<const MatrixRows*>(lanes[lane].value); };
  for (int matrix = 0; matrix < count; ++matrix) {
    uint16_t elements[8][8];
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      const Register pair = of(lane)->registers[matrix];
      (transposed ? elements[column][row] : elements[row][column]) = static_cast<uint16_t>(pair);
      (transposed ? elements[column + 1][row] : elements[row][column + 1]) =
          static_cast<uint16_t>(pair >> 16);
    }
    for (int row = 0; row < 8; ++row) {
      const uint64_t address = of(8 * matrix + row)->address;
      if (address % 16 != 0) gs_host_trap("stmatrix got the address of a row that is not aligned");
      __builtin_memcpy(reinterpret_cast<void*>(address), elements[row], 16);
    }
  }
}

template <int count, bool transposed>
inline constexpr host::CollectiveOperation matrix_store{"stmatrix",
                                                        complete_store<count, transposed>};

template <int count, bool transposed>
GS_HOST_INLINE void store_matrix(uint64_t address, Register* registers) {
  MatrixRows rows = {address, registers};
  host::warp_collective(0xffffffffu, reinterpret_cast<uint64_t>(&rows), 0,
                        matrix_store<count, transposed>);
}

}  // namespace gridstride::ptx

// ---- the functions of CUDA ---------------------------------------------------------------------

GS_HOST_INLINE size_t __cvta_generic_to_shared(const void* pointer) {
  return gridstride::ptx::to_shared(reinterpret_cast<uint64_t>(pointer));
}
GS_HOST_INLINE void* __cvta_shared_to_generic(size_t address) {
  return reinterpret_cast<void*>(gridstride::ptx::from_shared(address));
}

/*
 * packet.cuh — neighbouring elements that a thread loads and stores at once.
 *
 * Problem: a kernel that is limited by memory must keep enough bytes in flight to cover the latency
 * of memory. By Little's law, these are 32 to 64 KiB of each multiprocessor.
 * Mapping: a packet has N elements, a power of two. Its accesses have 16 bytes, the widest of all
 * supported GPUs, or all of a smaller packet. Its address must be a multiple of this size.
 */
#pragma once

#include "kernels/tensor/element.cuh"

namespace gridstride::tensor {

// A word of 1 to 16 bytes.
template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned int;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};

template <typename Word>
__device__ __forceinline__ void store_word(Word* target, Word word) {
  *target = word;
}

#if defined(__CUDACC__)
// Compilers split a store of words that were assembled in registers.
__device__ __forceinline__ void store_word(uint2* target, uint2 word) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(target), "r"(word.x), "r"(word.y)
               : "memory");
}
__device__ __forceinline__ void store_word(uint4* target, uint4 word) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(target), "r"(word.x), "r"(word.y),
               "r"(word.z), "r"(word.w)
               : "memory");
}
#endif

// An element; zero without one.
template <typename T>
__device__ __forceinline__ T element_if(bool exists, const T* source) {
  return exists ? *source : T{};
}

template <typename T, int N>
struct Packet {
  static constexpr int word_bytes = sizeof(T) * N < 16 ? sizeof(T) * N : 16;
  static constexpr int word_elements = word_bytes / sizeof(T);
  using Word = typename WordOf<word_bytes>::Type;

  T element[N];

  __device__ __forceinline__ void read(const T* source) {
    if constexpr (N == 1) {
      element[0] = *source;
    } else {
#pragma unroll
      for (int word = 0; word < N / word_elements; ++word) {
        const Word bits = reinterpret_cast<const Word*>(source)[word];
        memcpy(static_cast<void*>(element + word * word_elements), &bits, word_bytes);
      }
    }
  }

  __device__ __forceinline__ void write(T* target) const {
    if constexpr (N == 1) {
      *target = element[0];
    } else {
#pragma unroll
      for (int word = 0; word < N / word_elements; ++word) {
        Word bits;
        memcpy(&bits, element + word * word_elements, word_bytes);
        store_word(reinterpret_cast<Word*>(target) + word, bits);
      }
    }
  }

  // Elements that lie stride elements apart, one by one.
  __device__ __forceinline__ void read(const T* source, i64 stride) {
#pragma unroll
    for (int j = 0; j < N; ++j) element[j] = source[j * stride];
  }
  __device__ __forceinline__ void write(T* target, i64 stride) const {
#pragma unroll
    for (int j = 0; j < N; ++j) target[j * stride] = element[j];
  }
};

}  // namespace gridstride::tensor

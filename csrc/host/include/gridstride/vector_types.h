// The vector types of CUDA with their sizes and alignments, and the functions that make them.
//
// All of them are aggregates without constructors, as in CUDA: they may be members of unions and
// elements of __shared__ arrays. Three-element vectors are never padded. Vectors of four 8-byte
// elements are aligned to 16 bytes; the _32a forms of CUDA 13 to 32.
#pragma once

// One element type with its vectors of one to four and the alignments of two and of four.
#define GS_VECTOR_TYPES(name, element, alignment2, alignment4)                             \
  struct name##1 {                                                                         \
    element x;                                                                             \
  };                                                                                       \
  struct alignas(alignment2) name##2 {                                                     \
    element x, y;                                                                          \
  };                                                                                       \
  struct name##3 {                                                                         \
    element x, y, z;                                                                       \
  };                                                                                       \
  GS_VECTOR_OF_FOUR(name##4, element, alignment4)                                          \
  constexpr inline name##1 make_##name##1(element x) { return name##1 {x}; }               \
  constexpr inline name##2 make_##name##2(element x, element y) { return name##2 {x, y}; } \
  constexpr inline name##3 make_##name##3(element x, element y, element z) {               \
    return name##3 {x, y, z};                                                              \
  }

#define GS_VECTOR_OF_FOUR(name, element, alignment)                               \
  struct alignas(alignment) name {                                                \
    element x, y, z, w;                                                           \
  };                                                                              \
  constexpr inline name make_##name(element x, element y, element z, element w) { \
    return name{x, y, z, w};                                                      \
  }

GS_VECTOR_TYPES(char, signed char, 2, 4)
GS_VECTOR_TYPES(uchar, unsigned char, 2, 4)
GS_VECTOR_TYPES(short, short, 4, 8)
GS_VECTOR_TYPES(ushort, unsigned short, 4, 8)
GS_VECTOR_TYPES(int, int, 8, 16)
GS_VECTOR_TYPES(uint, unsigned int, 8, 16)
GS_VECTOR_TYPES(long, long, 2 * sizeof(long), 16)
GS_VECTOR_TYPES(ulong, unsigned long, 2 * sizeof(unsigned long), 16)
GS_VECTOR_TYPES(longlong, long long, 16, 16)
GS_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
GS_VECTOR_TYPES(float, float, 8, 16)
GS_VECTOR_TYPES(double, double, 16, 16)

GS_VECTOR_OF_FOUR(long4_16a, long, 16)
GS_VECTOR_OF_FOUR(long4_32a, long, 32)
GS_VECTOR_OF_FOUR(ulong4_16a, unsigned long, 16)
GS_VECTOR_OF_FOUR(ulong4_32a, unsigned long, 32)
GS_VECTOR_OF_FOUR(longlong4_16a, long long, 16)
GS_VECTOR_OF_FOUR(longlong4_32a, long long, 32)
GS_VECTOR_OF_FOUR(ulonglong4_16a, unsigned long long, 16)
GS_VECTOR_OF_FOUR(ulonglong4_32a, unsigned long long, 32)
GS_VECTOR_OF_FOUR(double4_16a, double, 16)
GS_VECTOR_OF_FOUR(double4_32a, double, 32)

#undef GS_VECTOR_TYPES
#undef GS_VECTOR_OF_FOUR

// The extents of a grid or a block; a missing one is 1.
struct dim3 {
  unsigned int x, y, z;

  constexpr dim3(unsigned int x_extent = 1, unsigned int y_extent = 1, unsigned int z_extent = 1)
      : x(x_extent), y(y_extent), z(z_extent) {}
  constexpr dim3(uint3 extents) : x(extents.x), y(extents.y), z(extents.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};

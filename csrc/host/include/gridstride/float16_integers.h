// Conversions between a 16-bit floating-point type and integers in all four roundings. Included
// once per type (float16_type.h says how).

#define GS_BETWEEN(name, type, rounding)                                                          \
  __device__ __forceinline__ type GS_NAME(__, 2##name##_##rounding)(GS_FLOAT16 value) {           \
    return gridstride::host::to_integer<gridstride::host::rounding, type>(                        \
        gridstride::host::widened(value));                                                        \
  }                                                                                               \
  __device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__##name##2, _##rounding)(type value) { \
    return gridstride::host::narrowed_integer<GS_FLOAT16, gridstride::host::rounding>(value);     \
  }
#define GS_BETWEEN_ALL_ROUNDINGS(name, type) \
  GS_BETWEEN(name, type, rn)                 \
  GS_BETWEEN(name, type, rz)                 \
  GS_BETWEEN(name, type, ru)                 \
  GS_BETWEEN(name, type, rd)

GS_BETWEEN_ALL_ROUNDINGS(short, short)
GS_BETWEEN_ALL_ROUNDINGS(ushort, unsigned short)
GS_BETWEEN_ALL_ROUNDINGS(int, int)
GS_BETWEEN_ALL_ROUNDINGS(uint, unsigned int)
GS_BETWEEN_ALL_ROUNDINGS(ll, long long)
GS_BETWEEN_ALL_ROUNDINGS(ull, unsigned long long)

#undef GS_BETWEEN_ALL_ROUNDINGS
#undef GS_BETWEEN

__device__ __forceinline__ signed char GS_NAME(__, 2char_rz)(GS_FLOAT16 value) {
  return gridstride::host::to_integer<gridstride::host::rz, signed char>(
      gridstride::host::widened(value));
}
__device__ __forceinline__ unsigned char GS_NAME(__, 2uchar_rz)(GS_FLOAT16 value) {
  return gridstride::host::to_integer<gridstride::host::rz, unsigned char>(
      gridstride::host::widened(value));
}

// A 16-bit floating-point type: the struct, its implicit conversions, and its conversions from and
// to float and double. cuda_fp16.h and cuda_bf16.h include this and the other float16_*.h files
// once each, with the GS_FLOAT16… macros naming the type; hence no include guard.
//
// The set of implicit conversions is CUDA's, ambiguities included, so that what compiles here
// compiles there.

template <>
struct gridstride::host::Float16Traits<GS_FLOAT16> {
  using Format = gridstride::host::GS_FLOAT16_FORMAT;
};

struct alignas(2) GS_FLOAT16_RAW {
  unsigned short x;
};

struct alignas(2) GS_FLOAT16 {
 protected:
  unsigned short __x;

 public:
  // Trivial, for unions and __shared__ arrays.
  GS_FLOAT16() = default;

  constexpr GS_FLOAT16(const GS_FLOAT16_RAW& raw) : __x(raw.x) {}
  explicit GS_FLOAT16(GS_FLOAT16_OTHER other);
  GS_FLOAT16(float value) : GS_FLOAT16(gridstride::host::narrowed<GS_FLOAT16>(value)) {}
  GS_FLOAT16(double value) : GS_FLOAT16(gridstride::host::narrowed<GS_FLOAT16>(value)) {}

#define GS_FROM_INTEGER(type)      \
  constexpr GS_FLOAT16(type value) \
      : GS_FLOAT16(gridstride::host::narrowed_integer<GS_FLOAT16, gridstride::host::rn>(value)) {}
  GS_FROM_INTEGER(short)
  GS_FROM_INTEGER(unsigned short)
  GS_FROM_INTEGER(int)
  GS_FROM_INTEGER(unsigned int)
  GS_FROM_INTEGER(long)
  GS_FROM_INTEGER(unsigned long)
  GS_FROM_INTEGER(long long)
  GS_FROM_INTEGER(unsigned long long)
#undef GS_FROM_INTEGER

  GS_FLOAT16& operator=(const GS_FLOAT16_RAW& raw) {
    __x = raw.x;
    return *this;
  }
  volatile GS_FLOAT16& operator=(const GS_FLOAT16_RAW& raw) volatile {
    __x = raw.x;
    return *this;
  }
  volatile GS_FLOAT16& operator=(const volatile GS_FLOAT16_RAW& raw) volatile {
    __x = raw.x;
    return *this;
  }

#define GS_ASSIGNMENT(type) \
  GS_FLOAT16& operator=(type value) { return *this = GS_FLOAT16(value); }
  GS_ASSIGNMENT(float)
  GS_ASSIGNMENT(double)
  GS_ASSIGNMENT(short)
  GS_ASSIGNMENT(unsigned short)
  GS_ASSIGNMENT(int)
  GS_ASSIGNMENT(unsigned int)
  GS_ASSIGNMENT(long long)
  GS_ASSIGNMENT(unsigned long long)
#undef GS_ASSIGNMENT

  constexpr operator GS_FLOAT16_RAW() const { return GS_FLOAT16_RAW{__x}; }
  operator GS_FLOAT16_RAW() const volatile { return GS_FLOAT16_RAW{__x}; }
  operator float() const { return gridstride::host::widened(*this); }
  constexpr operator bool() const { return (__x & 0x7fff) != 0; }

#define GS_TO_INTEGER(type)                                          \
  operator type() const {                                            \
    return gridstride::host::to_integer<gridstride::host::rz, type>( \
        gridstride::host::widened(*this));                           \
  }
  GS_TO_INTEGER(signed char)
  GS_TO_INTEGER(unsigned char)
  GS_TO_INTEGER(char)
  GS_TO_INTEGER(short)
  GS_TO_INTEGER(unsigned short)
  GS_TO_INTEGER(int)
  GS_TO_INTEGER(unsigned int)
  GS_TO_INTEGER(long)
  GS_TO_INTEGER(unsigned long)
  GS_TO_INTEGER(long long)
  GS_TO_INTEGER(unsigned long long)
#undef GS_TO_INTEGER
};

// ---- float and double --------------------------------------------------------------------------

#define GS_FROM_FLOAT(suffix, rounding)                                                          \
  __device__ __forceinline__ GS_FLOAT16 GS_NAME(__float2, suffix)(float value) {                 \
    return gridstride::host::narrowed_as<GS_FLOAT16, gridstride::host::rounding>(double{value}); \
  }
GS_FROM_FLOAT(_rz, rz)
GS_FROM_FLOAT(_ru, ru)
GS_FROM_FLOAT(_rd, rd)
#undef GS_FROM_FLOAT

__device__ __forceinline__ GS_FLOAT16 GS_NAME(__float2, )(float value) {
  return gridstride::host::narrowed<GS_FLOAT16>(value);
}
__device__ __forceinline__ GS_FLOAT16 GS_NAME(__float2, _rn)(float value) {
  return gridstride::host::narrowed<GS_FLOAT16>(value);
}
__device__ __forceinline__ GS_FLOAT16 GS_NAME(__double2, )(double value) {
  return gridstride::host::narrowed<GS_FLOAT16>(value);
}
__device__ __forceinline__ float GS_NAME(__, 2float)(GS_FLOAT16 value) {
  return gridstride::host::widened(value);
}

// ---- bits --------------------------------------------------------------------------------------

__device__ constexpr __forceinline__ short GS_NAME(__, _as_short)(GS_FLOAT16 value) {
  return gridstride::host::same_bits<short>(value);
}
__device__ constexpr __forceinline__ unsigned short GS_NAME(__, _as_ushort)(GS_FLOAT16 value) {
  return gridstride::host::same_bits<unsigned short>(value);
}
__device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__short_as_, )(short bits) {
  return gridstride::host::same_bits<GS_FLOAT16>(bits);
}
__device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__ushort_as_, )(unsigned short bits) {
  return gridstride::host::same_bits<GS_FLOAT16>(bits);
}

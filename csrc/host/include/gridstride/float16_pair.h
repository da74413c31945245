// A pair of 16-bit floating-point values in one word: the struct, packing and unpacking. Included
// once per type (float16_type.h says how).

struct alignas(4) GS_FLOAT16_PAIR_RAW {
  unsigned short x, y;
};

struct alignas(4) GS_FLOAT16_PAIR {
  GS_FLOAT16 x, y;

  GS_FLOAT16_PAIR() = default;
  constexpr GS_FLOAT16_PAIR(const GS_FLOAT16& low, const GS_FLOAT16& high) : x(low), y(high) {}
  constexpr GS_FLOAT16_PAIR(const GS_FLOAT16_PAIR_RAW& raw)
      : x(GS_FLOAT16_RAW{raw.x}), y(GS_FLOAT16_RAW{raw.y}) {}

  GS_FLOAT16_PAIR& operator=(const GS_FLOAT16_PAIR_RAW& raw) {
    return *this = GS_FLOAT16_PAIR(raw);
  }
  constexpr operator GS_FLOAT16_PAIR_RAW() const {
    return GS_FLOAT16_PAIR_RAW{GS_FLOAT16_RAW(x).x, GS_FLOAT16_RAW(y).x};
  }
};

// ---- from elements -----------------------------------------------------------------------------

__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_NAME(make_, 2)(GS_FLOAT16 x, GS_FLOAT16 y) {
  return GS_FLOAT16_PAIR(x, y);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__halves2, )(GS_FLOAT16 a,
                                                                               GS_FLOAT16 b) {
  return GS_FLOAT16_PAIR(a, b);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(GS_NAME(__, 2), )(GS_FLOAT16 a) {
  return GS_FLOAT16_PAIR(a, a);
}
__device__ __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__float2, _rn)(float a) {
  const GS_FLOAT16 both(a);
  return GS_FLOAT16_PAIR(both, both);
}
__device__ __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__floats2, _rn)(float a, float b) {
  return GS_FLOAT16_PAIR(GS_FLOAT16(a), GS_FLOAT16(b));
}
__device__ __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__float22, _rn)(float2 a) {
  return GS_FLOAT16_PAIR(GS_FLOAT16(a.x), GS_FLOAT16(a.y));
}

// ---- to elements -------------------------------------------------------------------------------

__device__ __forceinline__ float2 GS_PAIR_NAME(__, 2float2)(GS_FLOAT16_PAIR a) {
  return float2{float{a.x}, float{a.y}};
}
__device__ __forceinline__ float __low2float(GS_FLOAT16_PAIR a) { return a.x; }
__device__ __forceinline__ float __high2float(GS_FLOAT16_PAIR a) { return a.y; }
__device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__low2, )(GS_FLOAT16_PAIR a) { return a.x; }
__device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__high2, )(GS_FLOAT16_PAIR a) {
  return a.y;
}

// ---- rearranging -------------------------------------------------------------------------------

__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__low2, )(GS_FLOAT16_PAIR a) {
  return GS_FLOAT16_PAIR(a.x, a.x);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__high2, )(GS_FLOAT16_PAIR a) {
  return GS_FLOAT16_PAIR(a.y, a.y);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR __lowhigh2highlow(GS_FLOAT16_PAIR a) {
  return GS_FLOAT16_PAIR(a.y, a.x);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__lows2, )(GS_FLOAT16_PAIR a,
                                                                             GS_FLOAT16_PAIR b) {
  return GS_FLOAT16_PAIR(a.x, b.x);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__highs2, )(GS_FLOAT16_PAIR a,
                                                                              GS_FLOAT16_PAIR b) {
  return GS_FLOAT16_PAIR(a.y, b.y);
}

// The standard headers for NVRTC, with the values of every implementation: nvcc compiles this file
// with the headers of the system.
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

namespace {

struct Pair {
  float x;
  double y;
};
static_assert(offsetof(Pair, y) == 8, "");
struct Empty {};
struct Derived : Empty {
  int a;
};
union Either {
  int a;
  float b;
};
enum class Narrow : unsigned char { one };
using Function = int(float);

static_assert(sizeof(int8_t) == 1 && sizeof(uint16_t) == 2 && sizeof(int32_t) == 4, "");
static_assert(sizeof(std::int64_t) == 8 && sizeof(uintptr_t) == 8 && sizeof(std::size_t) == 8, "");
static_assert(sizeof(intmax_t) == 8 && sizeof(std::uint_least16_t) == 2, "");
static_assert(INT8_MIN == -128 && UINT16_MAX == 65535 && INT32_MIN == -2147483647 - 1, "");
static_assert(UINT64_MAX == 18446744073709551615ull && INT64_MAX == 9223372036854775807ll, "");
static_assert(UINT64_C(1) << 63 != 0 && SIZE_MAX == UINT64_MAX && UINTPTR_MAX == UINT64_MAX, "");
static_assert(CHAR_BIT == 8 && SHRT_MIN == -32768 && INT_MAX == 2147483647, "");
static_assert(UINT_MAX == 4294967295u && LONG_MAX == 9223372036854775807l, "");
static_assert(ULLONG_MAX == 18446744073709551615ull && LLONG_MIN < 0 && CHAR_MIN == -128, "");
static_assert(FLT_MAX == 3.402823466e+38f && FLT_MIN == 1.175494351e-38f, "");
static_assert(FLT_EPSILON == 1.192092896e-07f && DBL_EPSILON == 2.2204460492503131e-16, "");
static_assert(DBL_MAX == 1.7976931348623158e+308 && DBL_MIN == 2.2250738585072014e-308, "");
static_assert(M_PI > 3.141592653589793 - 1e-15 && M_SQRT2 * M_SQRT2 < 2.000000000000001, "");

static_assert(std::is_same<std::remove_cv_t<const volatile int>, int>::value, "");
static_assert(std::is_same_v<std::remove_reference_t<int&&>, int>, "");
static_assert(std::is_same_v<std::remove_pointer_t<int* const>, int>, "");
static_assert(std::is_same_v<std::decay_t<const int[3]>, const int*>, "");
static_assert(std::is_same_v<std::decay_t<Function>, Function*>, "");
static_assert(std::is_same_v<std::conditional_t<(1 > 2), int, float>, float>, "");
static_assert(std::is_same_v<std::enable_if_t<true, int>, int>, "");
static_assert(std::is_integral_v<bool> && std::is_integral_v<const long long>, "");
static_assert(!std::is_integral_v<float> && std::is_floating_point_v<double>, "");
static_assert(std::is_arithmetic_v<char> && !std::is_arithmetic_v<Pair>, "");
static_assert(std::is_signed_v<int> && !std::is_signed_v<unsigned> && std::is_signed_v<float>, "");
static_assert(std::is_unsigned_v<size_t> && !std::is_unsigned_v<double>, "");
static_assert(std::is_pointer_v<const int*> && !std::is_pointer_v<int[2]>, "");
static_assert(std::is_array_v<int[2]> && std::is_function_v<Function>, "");
static_assert(std::is_convertible_v<float, int> && !std::is_convertible_v<Pair, int>, "");
static_assert(std::integral_constant<int, 5>() == 5, "");

static_assert(std::numeric_limits<int>::max() == INT_MAX, "");
static_assert(std::numeric_limits<int>::lowest() == INT_MIN, "");
static_assert(std::numeric_limits<unsigned char>::max() == 255, "");
static_assert(std::numeric_limits<signed char>::min() == -128, "");
static_assert(std::numeric_limits<unsigned long long>::max() == ULLONG_MAX, "");
static_assert(std::numeric_limits<long long>::min() == LLONG_MIN, "");
static_assert(std::numeric_limits<bool>::max() && std::numeric_limits<bool>::digits == 1, "");
static_assert(std::numeric_limits<int>::digits10 == 9, "");
static_assert(std::numeric_limits<unsigned>::digits10 == 9, "");
static_assert(std::numeric_limits<long long>::digits10 == 18, "");
static_assert(std::numeric_limits<unsigned long long>::digits10 == 19, "");
static_assert(std::numeric_limits<char>::digits10 == 2 &&
                  !std::numeric_limits<Pair>::is_specialized,
              "");
static_assert(std::numeric_limits<float>::max() == FLT_MAX, "");
static_assert(std::numeric_limits<float>::lowest() == -FLT_MAX, "");
static_assert(std::numeric_limits<double>::epsilon() == DBL_EPSILON, "");
static_assert(std::numeric_limits<float>::denorm_min() > 0, "");
static_assert(std::numeric_limits<double>::infinity() > DBL_MAX, "");
constexpr double not_a_number = std::numeric_limits<const double>::quiet_NaN();
static_assert(std::numeric_limits<float>::has_infinity && !std::numeric_limits<int>::has_infinity,
              "");

template <size_t... Indices>
constexpr size_t sum(std::index_sequence<Indices...>) {
  return (Indices + ... + 0);
}
static_assert(sum(std::make_index_sequence<100>()) == 4950, "");
static_assert(std::make_index_sequence<0>::size() == 0, "");
static_assert(std::min(2, 1) == 1 && std::max(2.5, 1.0) == 2.5 && std::clamp(9, 1, 5) == 5, "");

}  // namespace

extern "C" __global__ void standard_functions(float* x, double* y, int n, uint64_t* z) {
  assert(n > 0);
  const int i = threadIdx.x;
  float one = x[i], other = INFINITY;
  x[i] = std::sqrt(one) + std::abs(one) + std::fmin(one, other) + std::pow(one, 2.0f) + NAN +
         not_a_number;
  y[i] = std::sqrt(y[i]) + std::hypot(y[i], 1.0) + std::floor(y[i]) + std::isnan(y[i]) + HUGE_VAL;
  y[i] += sqrt(n) + pow(n, 2) + floor(n) + std::fmax(one, y[i]) + atan2(n, one) + std::exp(y[i]) +
          std::log2(one) + std::abs(n) + M_PI;
  Pair from = {one, 2.0}, to;
  std::memcpy(&to, &from, sizeof(Pair));
  std::memset(&from, 0, offsetof(Pair, y));
  z[i] = static_cast<uint64_t>(std::clock()) + static_cast<uint64_t>(to.y);
  void* place = malloc(sizeof(Pair));
  Pair* made = new (place) Pair{1.0f, 2.0};
  std::printf("%f\n", made->x);
  free(place);
}

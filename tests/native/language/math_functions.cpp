// The math library's additions against long double, minimum and maximum against their definition.
#include <gridstride/math_functions.h>
#include <math_constants.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "check.h"
#include "suites.h"

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr long double pi_long = 3.14159265358979323846264338327950288L;

// Errors in units of the last place of the exact value.
double ulps(double result, long double exact) {
  if (std::isnan(result) || std::isnan(exact))
    return std::isnan(result) && std::isnan(exact) ? 0 : 1e9;
  const double nearest = static_cast<double>(exact);
  if (result == nearest) return 0;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent, -1021) - 53);
  return static_cast<double>(std::fabs(result - exact) / unit);
}

double ulps(float result, long double exact) {
  if (std::isnan(result) || std::isnan(exact))
    return std::isnan(result) && std::isnan(exact) ? 0 : 1e9;
  if (result == static_cast<float>(exact)) return 0;
  int exponent = 0;
  std::frexp(static_cast<float>(exact), &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent, -125) - 24);
  return static_cast<double>(std::fabs(result - exact) / unit);
}

void check_reciprocal_roots() {
  Check check("rsqrt, rcbrt and their float forms are within 2 ulps");
  Random random(11);
  for (int i = 0; i < 20000; i++) {
    const double x = std::fabs(random.any_double());
    const float y = std::fabs(random.any_float());
    if (!(x > 0) || std::isinf(x) || !(y > 0) || std::isinf(y)) continue;
    check.holds(ulps(rsqrt(x), 1 / std::sqrt(static_cast<long double>(x))) <= 2, x);
    check.holds(ulps(rcbrt(x), 1 / std::cbrt(static_cast<long double>(x))) <= 2, x);
    check.holds(ulps(rsqrtf(y), 1 / std::sqrt(static_cast<long double>(y))) <= 2, y);
    check.holds(ulps(rcbrtf(y), 1 / std::cbrt(static_cast<long double>(y))) <= 2, y);
  }
  check.equal(rcbrt(-8.0), -0.5, "rcbrt(-8)"), check.equal(rcbrt(-0.0), -infinity, "rcbrt(-0)");
  check.equal(rcbrt(-infinity), -0.0, "rcbrt(-infinity)");
  check.equal(rsqrtf(0.0f), static_cast<float>(infinity), "rsqrtf(0)");
  check.equal(rsqrtf(-0.0f), static_cast<float>(-infinity), "rsqrtf(-0)");
}

void check_half_turns() {
  Check check("sinpi and cospi are within 2 ulps, and exact where the result is");
  Random random(12);
  for (int i = 0; i < 40000; i++) {
    const double x = i % 2 ? random.moderate_double() : (random.below(1 << 20) - 524288.0) / 4096;
    const long double reduced = std::remainder(static_cast<long double>(x), 2.0L);
    // Of an argument near a multiple of pi, long double's own error counts: fold first.
    const long double sine =
        std::fabs(reduced) > 0.5L
            ? std::copysign(std::sin(pi_long * (1 - std::fabs(reduced))), reduced)
            : std::sin(pi_long * reduced);
    const long double cosine = std::sin(pi_long * (0.5L - std::fabs(reduced)));
    double both_sine = 0, both_cosine = 0;
    sincospi(x, &both_sine, &both_cosine);
    check.holds(ulps(sinpi(x), sine) <= 2 || std::fabs(sine) < 1e-15L, x, sinpi(x));
    check.holds(ulps(cospi(x), cosine) <= 2 || std::fabs(cosine) < 1e-15L, x, cospi(x));
    check.holds(both_sine == sinpi(x) && both_cosine == cospi(x), "sincospi", x);
    check.holds(ulps(sinpif(static_cast<float>(x)), sinpi(double{static_cast<float>(x)})) <= 1, x);
  }
  for (const double whole : {0.0, 1.0, 2.0, 3.0, 4.0, 1e15, 0x1p53, 0x1.8p1000}) {
    const bool odd = std::fmod(whole, 2) == 1;
    check.equal(sinpi(whole), 0.0, whole);
    check.equal(sinpi(-whole), -0.0, -whole);
    check.equal(cospi(whole), odd ? -1.0 : 1.0, whole);
    check.equal(cospi(-whole), odd ? -1.0 : 1.0, -whole);
  }
  for (const double half : {0.5, 1.5, 2.5, 3.5, -0.5, -1.5, 1e15 + 0.5}) {
    const double turns = std::fmod(half, 2);
    check.equal(cospi(half), 0.0, half);
    check.equal(sinpi(half), turns == 0.5 || turns == -1.5 ? 1.0 : -1.0, half);
  }
  for (const double bad : {infinity, -infinity, std::nan("")}) {
    check.holds(std::isnan(sinpi(bad)) && std::isnan(cospi(bad)), bad);
  }
}

void check_norms() {
  Check check("norms neither overflow nor underflow and are within 3 ulps");
  Random random(13);
  for (int i = 0; i < 20000; i++) {
    const double scale = std::ldexp(1.0, static_cast<int>(random.below(2000)) - 1000);
    double v[7];
    long double sum = 0;
    for (double& value : v) value = random.moderate_double() * scale;
    const auto exact = [&](int count) {
      sum = 0;
      for (int k = 0; k < count; k++) {
        const long double part = static_cast<long double>(v[k]) / scale;
        sum += part * part;
      }
      return std::sqrt(sum) * scale;
    };
    check.holds(ulps(norm3d(v[0], v[1], v[2]), exact(3)) <= 3, scale);
    check.holds(ulps(norm4d(v[0], v[1], v[2], v[3]), exact(4)) <= 3, scale);
    check.holds(ulps(norm(7, v), exact(7)) <= 3, scale);
    check.holds(ulps(rnorm3d(v[0], v[1], v[2]), 1 / exact(3)) <= 4, scale);
    check.holds(ulps(rhypot(v[0], v[1]), 1 / exact(2)) <= 4, scale);
  }
  const float large = 3e38f;
  check.holds(std::isinf(norm3df(large, large, large)), "float result beyond float");
  check.equal(norm3df(large, 0, 0), large);
  check.equal(norm4df(0, 0, 0, 0), 0.0f);
  check.equal(norm3d(infinity, std::nan(""), 1), infinity, "infinity beside NaN");
  check.holds(std::isnan(norm3d(1, std::nan(""), 1)), "NaN");
  check.equal(norm(0, nullptr), 0.0, "no elements");
  check.equal(norm3d(3e-320, 4e-320, 0), 5e-320, "subnormal");
}

// The error of an inverse x of y, in ulps of x, from the function's own slope.
template <class Function>
double inverse_ulps(double x, long double y, Function function, long double slope) {
  int exponent = 0;
  std::frexp(x, &exponent);
  const long double unit = std::ldexp(1.0L, exponent - 53);
  return static_cast<double>(std::fabs((function(static_cast<long double>(x)) - y) / slope) / unit);
}

long double density(double x) {
  return 2 / std::sqrt(pi_long) * std::exp(-static_cast<long double>(x) * x);
}

void check_inverse_error_functions() {
  Check check("erfinv, erfcinv and normcdfinv invert to within 4 ulps, from 1e-300 to 1 - 2^-53");
  Random random(14);
  const auto error = [](long double v) { return std::erf(v); };
  const auto complement = [](long double v) { return std::erfc(v); };
  for (int i = 0; i < 20000; i++) {
    const double y =
        std::ldexp(1.0 + random.below(1 << 30) * 0x1p-30, -1 - static_cast<int>(random.below(60)));
    check.holds(inverse_ulps(erfinv(y), y, error, density(erfinv(y))) <= 4, "erfinv", y, erfinv(y));
    check.equal(erfinv(-y), -erfinv(y), "odd", y);
    const double near_one = 1.0 - std::ldexp(y, -1);
    if (near_one < 1.0) {
      check.holds(inverse_ulps(erfinv(near_one), 1 - static_cast<long double>(near_one), complement,
                               density(erfinv(near_one))) <= 4,
                  "erfinv", near_one);
    }
    const double small = std::ldexp(y, -static_cast<int>(random.below(900)));
    check.holds(inverse_ulps(erfcinv(small), small, complement, density(erfcinv(small))) <= 4,
                "erfcinv", small, erfcinv(small));
    const long double tail =
        std::erfc(-static_cast<long double>(normcdfinv(small)) / std::sqrt(2.0L)) / 2;
    const long double slope = density(normcdfinv(small) / std::sqrt(2.0)) / std::sqrt(8.0L);
    int exponent = 0;
    std::frexp(normcdfinv(small), &exponent);
    const long double unit = std::ldexp(1.0L, exponent - 53);
    check.holds(std::fabs((tail - small) / slope) / unit <= 5, "normcdfinv", small);
  }
  check.equal(erfinv(1.0), infinity), check.equal(erfinv(-1.0), -infinity);
  check.equal(erfinv(0.0), 0.0), check.equal(erfinv(-0.0), -0.0);
  check.equal(erfcinv(0.0), infinity), check.equal(erfcinv(2.0), -infinity);
  check.equal(erfcinv(1.0), 0.0), check.equal(normcdfinv(0.0), -infinity);
  check.equal(normcdfinv(1.0), infinity);
  for (const double bad : {1.5, -1.5, std::nan("")}) check.holds(std::isnan(erfinv(bad)), bad);
  for (const double bad : {-0.5, 2.5, std::nan("")}) check.holds(std::isnan(erfcinv(bad)), bad);
}

void check_normal_distribution() {
  Check check("normcdf and erfcx are within 8 ulps over their whole range");
  Random random(15);
  for (int i = 0; i < 20000; i++) {
    const double x = (random.below(1 << 30) * 0x1p-30 * 2 - 1) * (i % 2 ? 37.5 : 3.0);
    const long double exact = std::erfc(-static_cast<long double>(x) / std::sqrt(2.0L)) / 2;
    check.holds(ulps(normcdf(x), exact) <= 8, "normcdf", x, normcdf(x));
    const double y = i % 2 ? x : std::fabs(x) * 20;
    if (y > -26.5 && y < 100) {
      const long double square = static_cast<long double>(y) * y;
      // Where exp(square) is large its argument's rounding shows: three more bits is all there is.
      const double bound = 8 + static_cast<double>(square) / 256;
      check.holds(
          ulps(erfcx(y), std::exp(square) * std::erfc(static_cast<long double>(y))) <= bound,
          "erfcx", y, erfcx(y));
    }
  }
  check.equal(normcdf(-infinity), 0.0), check.equal(normcdf(infinity), 1.0);
  check.equal(erfcx(infinity), 0.0), check.equal(erfcx(-infinity), infinity);
  check.holds(std::isnan(normcdf(std::nan(""))) && std::isnan(erfcx(std::nan(""))), "NaN");
  check.holds(erfcx(1e10) > 0 && std::fabs(erfcx(1e10) * 1e10 * std::sqrt(CUDART_PI) - 1) < 1e-12,
              "1e10");
}

template <class Left, class Right, class Result>
void check_pair(Check& check, const char* name) {
  static_assert(std::is_same<decltype(min(Left{}, Right{})), Result>::value, "result of min");
  static_assert(std::is_same<decltype(max(Left{}, Right{})), Result>::value, "result of max");
  for (const auto first : edge_words()) {
    for (const auto second : edge_words()) {
      const auto x = static_cast<Left>(first);
      const auto y = static_cast<Right>(second);
      const auto a = static_cast<Result>(x), b = static_cast<Result>(y);
      check.equal(min(x, y), a <= b ? a : b, name, x, y);
      check.equal(max(x, y), a >= b ? a : b, name, x, y);
    }
  }
}

// The integral of exp(x cos t) cos(n t) over half a turn, by the trapezoidal rule; its error is far
// below long double's for so many points.
long double modified_bessel_by_integral(int order, long double x) {
  constexpr int points = 512;
  long double sum = 0;
  for (int i = 0; i <= points; i++) {
    const long double angle = pi_long * i / points;
    const long double weight = i == 0 || i == points ? 0.5L : 1.0L;
    sum += weight * std::exp(x * (std::cos(angle) - 1)) * std::cos(order * angle);
  }
  return sum / points * std::exp(x);
}

void check_modified_bessel() {
  Check check("modified Bessel functions are within 6 ulps, as CUDA's");
  for (double x = 0x1p-10; x < 713; x = x < 1 ? x * 1.5 : x + 0.773) {
    const long double exact[] = {modified_bessel_by_integral(0, x),
                                 modified_bessel_by_integral(1, x)};
    check.holds(ulps(cyl_bessel_i0(x), exact[0]) <= 6, "i0", x);
    check.holds(ulps(cyl_bessel_i1(-x), -exact[1]) <= 6, "i1", -x);
    const auto single = static_cast<float>(x);
    if (x > 88) continue;
    check.holds(ulps(cyl_bessel_i0f(-single), modified_bessel_by_integral(0, single)) <= 1, single);
    check.holds(ulps(cyl_bessel_i1f(single), modified_bessel_by_integral(1, single)) <= 1, single);
  }
  check.equal(cyl_bessel_i0(-0.0), 1.0), check.equal(cyl_bessel_i1(-0.0), -0.0);
  check.equal(cyl_bessel_i0(-infinity), infinity), check.equal(cyl_bessel_i1(-infinity), -infinity);
  check.equal(cyl_bessel_i0(714.0), infinity), check.equal(cyl_bessel_i0(1e-300), 1.0);
  check.equal(cyl_bessel_i1(1e-300), 5e-301), check.equal(cyl_bessel_i1(0x1p-1074), 0.0);
  check.holds(std::isnan(cyl_bessel_i0(std::nan(""))) && std::isnan(cyl_bessel_i1f(std::nanf(""))),
              "NaN");
}

void check_minimum_maximum() {
  Check check("min and max have CUDA's result types and are unsigned with one unsigned operand");
  check_pair<int, int, int>(check, "int, int");
  check_pair<unsigned, unsigned, unsigned>(check, "unsigned, unsigned");
  check_pair<int, unsigned, unsigned>(check, "int, unsigned");
  check_pair<unsigned, int, unsigned>(check, "unsigned, int");
  check_pair<long, long, long>(check, "long, long");
  check_pair<long, unsigned long, unsigned long>(check, "long, unsigned long");
  check_pair<long long, long long, long long>(check, "long long, long long");
  check_pair<unsigned long long, long long, unsigned long long>(check,
                                                                "unsigned long long, long long");
  check.equal(umin(3u, ~0u), 3u), check.equal(llmax(-1, 1), 1ll),
      check.equal(ullmin(~0ull, 7), 7ull);

  Check numbers("min and max of floating point prefer numbers to NaN and order -0 below +0");
  const float nan = std::nanf("");
  numbers.equal(min(nan, 1.0f), 1.0f), numbers.equal(min(1.0f, nan), 1.0f);
  numbers.equal(max(nan, -1.0f), -1.0f), numbers.equal(max(-1.0, std::nan("")), -1.0);
  numbers.holds(std::isnan(min(nan, nan)) && std::isnan(max(nan, nan)), "both NaN");
  numbers.equal(min(0.0f, -0.0f), -0.0f), numbers.equal(min(-0.0f, 0.0f), -0.0f);
  numbers.equal(max(0.0f, -0.0f), 0.0f), numbers.equal(max(-0.0f, 0.0f), 0.0f);
  static_assert(std::is_same<decltype(min(1.0f, 2.0)), double>::value, "float and double");
  numbers.equal(max(1.0f, 2.0), 2.0), numbers.equal(min(-1.0, 2.0f), -1.0);
}

void check_intrinsics() {
  Check check("fast intrinsics and saturation");
  const float nan = std::nanf("");
  check.equal(__saturatef(nan), 0.0f), check.equal(__saturatef(-1.0f), 0.0f);
  check.equal(__saturatef(-0.0f), 0.0f), check.equal(__saturatef(0.25f), 0.25f);
  check.equal(__saturatef(2.0f), 1.0f),
      check.equal(__saturatef(static_cast<float>(infinity)), 1.0f);
  Random random(16);
  for (int i = 0; i < 1000; i++) {
    const float x = random.moderate_float(), y = std::fabs(random.moderate_float());
    check.equal(__expf(x), std::exp(x), "__expf", x),
        check.equal(__logf(y), std::log(y), "__logf", y);
    check.equal(__log2f(y), std::log2(y), "__log2f", y),
        check.equal(__tanf(x), std::tan(x), "__tanf", x);
    check.equal(__log10f(y), std::log10(y), "__log10f", y);
    check.equal(__powf(y, x / 64), std::pow(y, x / 64), "__powf", y, x);
    check.holds(std::fabs(__exp10f(x / 16) / std::pow(10.0, x / 16) - 1) < 1e-6, "__exp10f", x);
    float sine = 0, cosine = 0;
    __sincosf(x, &sine, &cosine);
    check.holds(sine == __sinf(x) && cosine == __cosf(x), "__sincosf", x);
    check.equal(__fdividef(x, y), x / y, "__fdividef", x, y);
  }
}

}  // namespace

void check_math_functions() {
  check_reciprocal_roots();
  check_half_turns();
  check_norms();
  check_inverse_error_functions();
  check_normal_distribution();
  check_modified_bessel();
  check_minimum_maximum();
  check_intrinsics();
}

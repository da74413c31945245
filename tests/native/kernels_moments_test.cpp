// moments_partial and moments_final against two passes in long double, on data where textbook
// formulas fail.
#include <cmath>

#include "kernels_elements.h"
#include "kernels_launch.h"
#include "kernels_test.h"

namespace kernels_test {
namespace {

constexpr unsigned int final_block = 96;

struct Exact {
  long double mean = 0;
  long double m2 = 0;
  long double greatest = 0;  // max |x|
};

// Relative to an element near the mean, or else long double would be too short for sums of numbers
// near 2^52.
template <typename T>
Exact exact_moments(const std::vector<T>& x) {
  Exact exact;
  const long double near = to_double(x.back());
  long double sum = 0;
  for (const T value : x) {
    sum += to_double(value) - near;
    exact.greatest = std::max<long double>(exact.greatest, std::fabs(to_double(value)));
  }
  const long double mean = sum / x.size();
  for (const T value : x) {
    const long double deviation = to_double(value) - near - mean;
    exact.m2 += deviation * deviation;
  }
  exact.mean = near + mean;
  return exact;
}

template <typename T>
std::vector<double> partial_moments(const std::vector<T>& x, size_t offset, Geometry geometry) {
  const DeviceArray<T> device_x(x, offset);
  const DeviceArray<double> partials(std::vector<double>(3 * geometry.grid, 77));
  launch(name_of<T>("moments_partial"), geometry, 0, device_x.data(), partials.data(),
         static_cast<unsigned long long>(x.size()));
  require(partials.guards_intact() ? cudaSuccess : cudaErrorUnknown, "keep within the partials");
  return partials.read();
}

template <typename O>
std::vector<O> final_moments(const std::vector<double>& partials, double correction) {
  const DeviceArray<double> device_partials(partials);
  const DeviceArray<O> out(std::vector<O>(2));
  launch(name_of<O>("moments_final"), {1, final_block}, 0, device_partials.data(),
         static_cast<unsigned int>(partials.size() / 3), correction, out.data());
  return out.read();
}

struct Bounds {
  double mean;
  double m2;
};

// The bounds that moments.cuh states.
template <typename T>
Bounds moment_bounds(const Exact& exact, size_t n, Geometry geometry) {
  const bool narrow = std::is_integral_v<T> && sizeof(T) <= 2;
  const bool in_double = std::is_same_v<T, double> || (std::is_integral_v<T> && !narrow);
  const double unit = narrow ? 0 : in_double ? 0x1p-53 : 0x1p-24;
  const double depth = sizeof(T) == 8 ? 3 : sizeof(T) == 4 ? 4 : 5;
  const double batch = (sizeof(T) == 1 ? 32.0 : 64.0) / sizeof(T);
  const double b = std::ceil(n / (batch * geometry.grid * geometry.block)) + 6;
  const double c = 10 * std::ceil(double(geometry.grid) / final_block);
  const double greatest = static_cast<double>(exact.greatest);
  const double m2 = static_cast<double>(exact.m2);
  const double shift = depth * unit * greatest;
  const double e = (12 + c) * 0x1p-53 * greatest;
  return {(depth + 2) * unit * std::sqrt(m2 / n) + (b + 100 + c) * 0x1p-53 * greatest,
          (3 * depth + 5) * unit * (m2 + n * shift * shift) + (b * b + 100 + c) * 0x1p-53 * m2 +
              2 * e * std::sqrt(n * m2) + n * e * e};
}

template <typename T>
void check_bounds(const char* data, const std::vector<T>& x, Check& check) {
  const Exact exact = exact_moments(x);
  const size_t n = x.size();
  for (const size_t offset : {0, 1, 7}) {
    for (const Geometry geometry : geometries) {
      const auto partials = partial_moments(x, offset, geometry);
      double count = 0;
      for (size_t i = 0; i < partials.size(); i += 3) {
        count += partials[i];
      }
      const std::vector<double> out = final_moments<double>(partials, n > 1 ? 1.0 : 0.0);
      const Bounds bounds = moment_bounds<T>(exact, n, geometry);
      const double divisor = n > 1 ? n - 1.0 : 1.0;
      const double mean_error = static_cast<double>(std::fabs(out[0] - exact.mean));
      const double m2_error = static_cast<double>(std::fabs(out[1] * divisor - exact.m2));
      // The division and the multiplication back are not the kernel's error.
      const double slack = 4 * 0x1p-53 * static_cast<double>(exact.m2);
      check.that(count == double(n), "%s: count %g, not %zu", data, count, n);
      check.that(mean_error <= bounds.mean, "%s, n %zu, offset %zu, grid %u: mean off %g > %g",
                 data, n, offset, geometry.grid, mean_error, bounds.mean);
      check.that(m2_error <= bounds.m2 + slack, "%s, n %zu, offset %zu, grid %u: M2 off %g > %g",
                 data, n, offset, geometry.grid, m2_error, bounds.m2);
    }
  }
}

template <typename T>
void check_lengths() {
  Check check(name_of<T>("moments") + " keep their bounds for every length");
  for (const size_t n : lengths) {
    if (n > 0) {
      check_bounds("values", random_values<T>(n, 3, 100, 17), check);
    }
  }
}

// One row of zeros, or one wild value, before data far from zero: what a shift by the first
// element would not survive.
template <typename T>
void check_hard_data(double center, double spread, double outlier) {
  char text[96];
  std::snprintf(text, sizeof(text), " keep their bounds around %g +- %g, outlier %g", center,
                spread, outlier);
  Check check(name_of<T>("moments") + text);
  std::vector<T> x = random_values<T>(20011, center - spread, center + spread, 19);
  check_bounds("without outliers", x, check);
  x[0] = from_double<T>(outlier);
  check_bounds("outlier first", x, check);
  for (size_t i = 0; i < 64; ++i) {
    x[i] = from_double<T>(0);
  }
  check_bounds("zeros first", x, check);
}

template <typename T>
void check_constant() {
  Check check(name_of<T>("moments") + " of equal elements: variance 0 and their value");
  const T value = from_double<T>(101.3);
  for (const size_t n : {size_t(1), size_t(17), size_t(4099), size_t(70001)}) {
    const auto out =
        final_moments<double>(partial_moments(std::vector<T>(n, value), 1, {7, 64}), 0);
    check.that(out[0] == to_double(value) && out[1] == 0, "n %zu: mean %.17g, variance %g", n,
               out[0], out[1]);
  }
}

template <typename O>
void check_final() {
  Check check(name_of<O>("moments_final") + " rounds once and knows when there is no variance");
  const std::vector<double> x = {1, 2, 4, 8, 16};
  const auto partials = partial_moments(x, 0, {3, 32});
  for (const double correction : {0.0, 1.0, 1.5, 4.0}) {
    const auto out = final_moments<O>(partials, correction);
    check.that(same(out[0], from_double<O>(6.2)), "mean %.17g", to_double(out[0]));
    const double variance = to_double(out[1]);
    const double expected = to_double(from_double<O>(148.8 / (5 - correction)));
    check.that(std::fabs(variance - expected) <= 4 * unit_roundoff<O> * expected,
               "correction %g: variance %.17g", correction, variance);
  }
  check.that(std::isnan(to_double(final_moments<O>(partials, 5)[1])), "N equals the correction");
  check.that(std::isnan(to_double(final_moments<O>(partials, 6)[1])), "N below the correction");
  const auto none = final_moments<O>(partial_moments(std::vector<double>(), 0, {3, 32}), 0);
  check.that(std::isnan(to_double(none[0])) && std::isnan(to_double(none[1])), "no elements");
}

template <typename T>
void check_not_a_number() {
  Check check(name_of<T>("moments") + " are NaN with a NaN or an infinity anywhere");
  for (const double bad : {double(NAN), double(INFINITY), double(-INFINITY)}) {
    for (size_t place = 0; place < 1031; place += 1 + place / 10) {
      std::vector<T> x = random_values<T>(1031, 0, 1, 29);
      x[place] = from_double<T>(bad);
      const auto out = final_moments<double>(partial_moments(x, 1, {2, 32}), 0);
      check.that(std::isnan(out[0]) && std::isnan(out[1]), "%g at %zu: %g, %g", bad, place, out[0],
                 out[1]);
    }
  }
}

}  // namespace

void test_moments() {
  for_each_numeric_type([](auto zero) {
    check_lengths<decltype(zero)>();
    check_constant<decltype(zero)>();
  });
  for_each_floating_type([](auto zero) {
    check_final<decltype(zero)>();
    check_not_a_number<decltype(zero)>();
  });
  check_hard_data<float>(1e4, 1, 1e6);
  check_hard_data<float>(1e7, 1e3, -1e7);
  check_hard_data<float>(1e7, 30, 0);
  check_hard_data<double>(1e12, 1, 1e15);
  check_hard_data<int>(2e9, 1e3, -2e9);
  check_hard_data<unsigned int>(4e9, 10, 0);
  check_hard_data<long long>(4e15, 1e3, 0);
  check_hard_data<short>(32000, 700, -32768);
  check_hard_data<signed char>(-120, 8, 127);
  check_hard_data<__half>(2000, 30, 60000);
  check_hard_data<__nv_bfloat16>(1000, 100, -5000);
}

}  // namespace kernels_test

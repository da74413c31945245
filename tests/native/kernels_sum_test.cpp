// sum_partial and the final steps: integers are exact modulo 2^64, floating sums keep the bound
// that sum.cuh states, and results repeat.
#include <cmath>

#include "kernels_elements.h"
#include "kernels_launch.h"
#include "kernels_test.h"

namespace kernels_test {
namespace {

template <typename T>
using Total = std::conditional_t<is_float<T>, double, long long>;

constexpr unsigned int final_block = 64;

template <typename T>
std::vector<Total<T>> partial_sums(const std::vector<T>& x, size_t offset, Geometry geometry) {
  const DeviceArray<T> device_x(x, offset);
  const DeviceArray<Total<T>> partials(std::vector<Total<T>>(geometry.grid, Total<T>(77)));
  launch(name_of<T>("sum_partial"), geometry, 0, device_x.data(), partials.data(),
         static_cast<unsigned long long>(x.size()));
  require(partials.guards_intact() ? cudaSuccess : cudaErrorUnknown, "keep within the partials");
  return partials.read();
}

template <typename O>
O final_sum(const std::vector<double>& partials, double factor) {
  const DeviceArray<double> device_partials(partials);
  const DeviceArray<O> out(std::vector<O>(1));
  launch(name_of<O>("sum_final"), {1, final_block}, 0, device_partials.data(),
         static_cast<unsigned int>(partials.size()), factor, out.data());
  return out.read()[0];
}

long long final_sum(const std::vector<long long>& partials) {
  const DeviceArray<long long> device_partials(partials);
  const DeviceArray<long long> out(std::vector<long long>(1));
  launch("sum_final_int64", {1, final_block}, 0, device_partials.data(),
         static_cast<unsigned int>(partials.size()), out.data());
  return out.read()[0];
}

// The bound of sum.cuh, in units of the sum of magnitudes.
template <typename T>
double sum_bound(size_t n, Geometry geometry) {
  const double batch = 64.0 / sizeof(T);
  const double threads = double(geometry.grid) * geometry.block;
  const double additions = std::ceil(n / (batch * threads)) + 6;
  const double finals = std::ceil(double(geometry.grid) / final_block);
  const double unit = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
  const double depth = std::is_same_v<T, double> ? 3 : std::is_same_v<T, float> ? 4 : 5;
  return depth * unit + (additions + 20 + finals) * 0x1p-53;
}

template <typename T>
void check_floating_sum(double low, double high) {
  char range[64];
  std::snprintf(range, sizeof(range), " of values in [%g, %g]", low, high);
  Check check(name_of<T>("sum") + range + " keeps its bound");
  for (const size_t n : lengths) {
    const std::vector<T> x = random_values<T>(n, low, high, 5);
    long double exact = 0;
    long double magnitude = 0;
    for (const T value : x) {
      exact += to_double(value);
      magnitude += std::fabs(to_double(value));
    }
    for (const size_t offset : {0, 1, 7}) {
      for (const Geometry geometry : geometries) {
        const double sum = final_sum<double>(partial_sums(x, offset, geometry), 1.0);
        const double error = static_cast<double>(std::fabs(sum - exact));
        const double bound = sum_bound<T>(n, geometry) * static_cast<double>(magnitude);
        check.that(error <= bound, "n %zu, offset %zu, grid %u, block %u: error %g, bound %g", n,
                   offset, geometry.grid, geometry.block, error, bound);
      }
    }
  }
}

template <typename T>
void check_integer_sum() {
  Check check(name_of<T>("sum") + " is exact modulo 2^64");
  for (const size_t n : lengths) {
    const std::vector<T> x = random_patterns<T>(n, 7);
    unsigned long long exact = 0;
    for (const T value : x) {
      exact += static_cast<unsigned long long>(value);
    }
    for (const size_t offset : {0, 1, 7}) {
      for (const Geometry geometry : geometries) {
        const long long sum = final_sum(partial_sums(x, offset, geometry));
        check.that(sum == static_cast<long long>(exact), "n %zu, offset %zu: %lld, not %lld", n,
                   offset, sum, static_cast<long long>(exact));
      }
    }
  }
  // All extremes at once: a batch total of too few bits would overflow.
  for (const T value : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
    const std::vector<T> x(4096, value);
    const long long sum = final_sum(partial_sums(x, 0, {1, 32}));
    const auto exact = static_cast<long long>(4096ull * static_cast<unsigned long long>(value));
    check.that(sum == exact, "4096 times %lld: %lld", static_cast<long long>(value), sum);
  }
}

template <typename T>
void check_repeats() {
  Check check(name_of<T>("sum_partial") + " gives the same bits again");
  const std::vector<T> x = random_values<T>(70001, -1, 1, 3);
  for (const Geometry geometry : geometries) {
    const auto first = partial_sums(x, 1, geometry);
    const auto second = partial_sums(x, 1, geometry);
    check.that(std::memcmp(first.data(), second.data(), first.size() * sizeof(first[0])) == 0,
               "grid %u, block %u", geometry.grid, geometry.block);
  }
}

template <typename T>
void check_special_sums() {
  Check check(name_of<T>("sum") + " keeps infinities and NaN");
  std::vector<T> x = random_values<T>(1025, 0, 1, 9);
  x[1000] = from_double<T>(INFINITY);
  check.that(final_sum<double>(partial_sums(x, 0, {2, 64}), 1) == INFINITY, "infinity");
  x[3] = from_double<T>(-INFINITY);
  check.that(std::isnan(final_sum<double>(partial_sums(x, 0, {2, 64}), 1)), "inf - inf");
  x[3] = from_double<T>(NAN);
  check.that(std::isnan(final_sum<double>(partial_sums(x, 0, {2, 64}), 1)), "NaN");
}

template <typename O>
void check_final_rounding() {
  Check check(name_of<O>("sum_final") + " and mean_final scale and round once each");
  for (const unsigned int count : {1u, 2u, 31u, 33u, 64u, 65u, 1000u}) {
    std::vector<double> partials(count);
    std::vector<long long> integers(count);
    double sum = 0;
    for (unsigned int i = 0; i < count; ++i) {
      integers[i] = static_cast<long long>(i) * 12345 - 6789;
      partials[i] = static_cast<double>(integers[i]);  // exact in any order
      sum += partials[i];
    }
    const double factor = 1.0 / (3.0 * count * 12345);
    const O expected = from_double<O>(sum * factor);
    check.that(same(final_sum<O>(partials, factor), expected), "sum of %u partials", count);

    const DeviceArray<long long> device_integers(integers);
    const DeviceArray<O> out(std::vector<O>(1));
    launch(name_of<O>("mean_final"), {1, final_block}, 0, device_integers.data(), count, factor,
           out.data());
    check.that(same(out.read()[0], expected), "mean of %u partials", count);
  }
}

}  // namespace

void test_sums() {
  for_each_floating_type([](auto zero) {
    using T = decltype(zero);
    check_floating_sum<T>(0, 1);
    check_floating_sum<T>(-1000, 1000);
    check_floating_sum<T>(0.1, 0.1);
    check_special_sums<T>();
    check_repeats<T>();
    check_final_rounding<T>();
  });
  for_each_integer_type([](auto zero) { check_integer_sum<decltype(zero)>(); });
}

}  // namespace kernels_test

// The reductions on every length, offset and geometry, on values that give exact results: what the
// bounds in TypeScript's validate() cannot show. Guards catch writes beside the partial results.
#include <algorithm>
#include <cmath>

#include "kernels_elements.h"
#include "kernels_launch.h"
#include "kernels_test.h"

namespace kernels_test {
namespace {

constexpr unsigned int final_block = 64;

// Small integers, in every type: sums, means and squares of them are exact in double.
template <typename T>
std::vector<T> small_integers(size_t n) {
  std::vector<T> x = random_values<T>(n, 0, 100, 5);
  for (T& value : x) value = from_double<T>(std::floor(to_double(value)));
  return x;
}

template <typename Result, typename T>
std::vector<Result> partials_of(const char* kernel, const std::vector<T>& x, size_t offset,
                                Geometry geometry, size_t per_block = 1) {
  const DeviceArray<T> elements(x, offset);
  const DeviceArray<Result> partials(std::vector<Result>(per_block * geometry.grid));
  launch(name_of<T>(kernel), geometry, 0, elements.data(), partials.data(),
         static_cast<unsigned long long>(x.size()));
  require(partials.guards_intact() ? cudaSuccess : cudaErrorUnknown, "keep within the partials");
  return partials.read();
}

template <typename T>
double sum_of(const std::vector<T>& x, size_t offset, Geometry geometry) {
  if constexpr (is_float<T>) {
    const DeviceArray<double> partials(partials_of<double>("sum_partial", x, offset, geometry));
    const DeviceArray<double> out(std::vector<double>(1));
    launch("sum_final_float64", {1, final_block}, 0, partials.data(), geometry.grid, 1.0,
           out.data());
    return out.read()[0];
  } else {
    const DeviceArray<long long> partials(
        partials_of<long long>("sum_partial", x, offset, geometry));
    const DeviceArray<long long> out(std::vector<long long>(1));
    launch("sum_final_int64", {1, final_block}, 0, partials.data(), geometry.grid, out.data());
    return static_cast<double>(out.read()[0]);
  }
}

template <typename T>
double extremum_of(const char* kernel, const std::vector<T>& x, size_t offset, Geometry geometry) {
  const std::vector<T> partials = partials_of<T>(kernel, x, offset, geometry);
  return to_double(partials_of<T>(kernel, partials, 0, {1, final_block})[0]);
}

template <typename T>
std::vector<double> moments_of(const std::vector<T>& x, size_t offset, Geometry geometry) {
  const DeviceArray<double> partials(
      partials_of<double>("moments_partial", x, offset, geometry, 3));
  const DeviceArray<double> out(std::vector<double>(2));
  launch("moments_final_float64", {1, final_block}, 0, partials.data(), geometry.grid, 0.0,
         out.data());
  return out.read();
}

template <typename T>
void check_reductions() {
  Check sums(name_of<T>("sum") + " is exact for every length, offset and geometry");
  Check extrema(name_of<T>("min, max") + " are exact for every length, offset and geometry");
  Check moments(name_of<T>("moments") + " are right for every length, offset and geometry");
  for (const size_t n : lengths) {
    const std::vector<T> x = small_integers<T>(n);
    double sum = 0;
    double squares = 0;
    double least = INFINITY;
    double greatest = -INFINITY;
    for (const T element : x) {
      const double value = to_double(element);
      sum += value;
      squares += value * value;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
    for (const size_t offset : {0, 1, 7}) {
      for (const Geometry geometry : geometries) {
        const double found = sum_of(x, offset, geometry);
        sums.that(found == sum, "n %zu, offset %zu, grid %u, block %u: %g, not %g", n, offset,
                  geometry.grid, geometry.block, found, sum);
        if (n == 0) continue;
        const double low = extremum_of("min_partial", x, offset, geometry);
        const double high = extremum_of("max_partial", x, offset, geometry);
        extrema.that(low == least && high == greatest,
                     "n %zu, offset %zu, grid %u, block %u: %g and %g, not %g and %g", n, offset,
                     geometry.grid, geometry.block, low, high, least, greatest);
        const double mean = sum / static_cast<double>(n);
        const double variance = squares / static_cast<double>(n) - mean * mean;
        const std::vector<double> result = moments_of(x, offset, geometry);
        const bool near = std::fabs(result[0] - mean) <= 1e-4 &&
                          std::fabs(result[1] - variance) <= 1e-4 * (1 + variance);
        moments.that(near, "n %zu, offset %zu, grid %u, block %u: %g and %g, not %g and %g", n,
                     offset, geometry.grid, geometry.block, result[0], result[1], mean, variance);
      }
    }
  }
}

// Launches either kernel for the histogram of elements that are not aligned.
template <typename T>
void launch_histogram(bool shared, Geometry geometry, const DeviceArray<T>& elements, size_t n,
                      const DeviceArray<unsigned int>& counts, unsigned int bins, double low,
                      double high, unsigned int copies = 2) {
  const auto count = static_cast<unsigned long long>(n);
  if (shared) {
    launch(name_of<T>("histogram_shared"), geometry, bins * copies * 4, elements.data(),
           counts.data(), bins, copies, low, high, count);
  } else {
    launch(name_of<T>("histogram_global"), geometry, 0, elements.data(), counts.data(), bins, low,
           high, count);
  }
}

template <typename T>
void check_histograms() {
  Check check(name_of<T>("histogram") + " adds exact counts for every geometry");
  constexpr unsigned int bins = 50;
  for (const size_t n : {size_t(0), size_t(1), size_t(31), size_t(1025), size_t(20011)}) {
    const std::vector<T> x = small_integers<T>(n);
    std::vector<unsigned int> expected(bins, 5);
    for (const T element : x) {
      if (to_double(element) <= 90) {
        ++expected[static_cast<size_t>(std::min(to_double(element) * bins / 90, bins - 1.0))];
      }
    }
    for (const bool shared : {true, false}) {
      for (const Geometry geometry : geometries) {
        const DeviceArray<T> elements(x, 1);
        const DeviceArray<unsigned int> counts(std::vector<unsigned int>(bins, 5));
        launch_histogram(shared, geometry, elements, n, counts, bins, 0, 90, geometry.grid % 3 + 1);
        check.that(counts.read() == expected && counts.guards_intact(),
                   "%s, n %zu, grid %u, block %u", shared ? "shared" : "global", n, geometry.grid,
                   geometry.block);
      }
    }
  }
}

struct Range {
  double low;
  double high;
  unsigned int bins;
};

// Ranges that float holds well, badly and not at all, and more bins than it can tell apart.
constexpr Range ranges[] = {
    {-1, 1, 64},       {0, 1, 1},          {0.1, 0.7, 7},     {1e6, 1e6 + 1, 64},
    {-3, 1e9, 1000},   {1 / 3.0, 1e3, 4093}, {5e-45, 1e-38, 3}, {-3e38, 3e38, 11},
    {-1e300, 1e300, 9}, {1e-3, 1.001e-3, 50}, {100, 200, 10000}, {-65504, 65504, 255},
};

// The formula of histogram.cuh in double, where the kernel estimates the bins of floats.
template <typename T>
void check_bin_edges() {
  Check check(name_of<T>("histogram") + " counts as in double, at all edges of bins");
  for (const Range& range : ranges) {
    const double scale = range.bins / (range.high - range.low);
    std::vector<T> x;
    for (unsigned int edge = 0; edge <= range.bins; ++edge) {
      const double value = range.low + edge / scale;
      for (const float from : {-INFINITY, INFINITY}) {
        float near = static_cast<float>(value);
        for (int step = 0; step < 3; ++step, near = std::nextafter(near, from)) {
          x.push_back(from_double<T>(near));
        }
      }
    }
    for (const double value : {0.0, -0.0, 1e-45, 3e38, -3e38, 8388607.5, double(INFINITY),
                               -double(INFINITY), double(NAN)}) {
      x.push_back(from_double<T>(value));
    }
    std::vector<unsigned int> expected(range.bins);
    for (const T element : x) {
      const double value = to_double(element);
      if (!(value >= range.low && value <= range.high)) continue;
      const double product = (value - range.low) * scale;
      ++expected[product < range.bins ? static_cast<size_t>(product) : range.bins - 1];
    }
    const DeviceArray<T> elements(x, 1);
    for (const bool shared : {true, false}) {
      const DeviceArray<unsigned int> counts{std::vector<unsigned int>(range.bins)};
      launch_histogram(shared, {3, 96}, elements, x.size(), counts, range.bins, range.low,
                       range.high, 1);
      check.that(counts.read() == expected, "%u bins of %g to %g", range.bins, range.low,
                 range.high);
    }
  }
}

}  // namespace

void test_reductions() {
  for_each_numeric_type([](auto zero) {
    check_reductions<decltype(zero)>();
    check_histograms<decltype(zero)>();
  });
  for_each_floating_type([](auto zero) { check_bin_edges<decltype(zero)>(); });
}

}  // namespace kernels_test

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

// How a row is taken: the most elements of a part, its threads, and whether it has whole packets.
struct Taking {
  long long part;
  int threads;
  bool is_packed;
};
constexpr Taking takings[] = {
    {1 << 30, 256, false}, {1 << 30, 256, true}, {1 << 30, 32, false},
    {1 << 30, 32, true},   {1024, 256, false},   {1024, 256, true},
};

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

// Launches a kernel for each part of a row, as built-in reductions do.
template <typename Parts, typename T, typename... Arguments>
std::vector<Parts> row_parts_of(const std::string& kernel, const std::vector<T>& x, size_t offset,
                                long long part, Arguments... arguments) {
  const long long width = static_cast<long long>(x.size());
  const long long length = std::max(1LL, std::min(width, part));
  const unsigned int count =
      static_cast<unsigned int>(std::max(1LL, (width + length - 1) / length));
  const DeviceArray<T> elements(x, offset);
  const DeviceArray<Parts> parts{std::vector<Parts>(count)};
  launch(kernel, {count, 256}, 0, elements.data(), parts.data(), width, length, arguments...);
  require(parts.guards_intact() ? cudaSuccess : cudaErrorUnknown, "keep within the parts");
  return parts.read();
}

template <typename T>
double sum_of(const std::vector<T>& x, size_t offset, const Taking& taking) {
  constexpr int packed = 16 / sizeof(T);
  const int size = taking.is_packed ? packed : 1;
  if constexpr (is_float<T>) {
    const std::vector<double> sums =
        row_parts_of<double>(name_of<T>("sum_row"), x, offset, taking.part, taking.threads, size);
    const DeviceArray<double> parts(sums);
    const DeviceArray<double> out(std::vector<double>(1));
    launch("sum_final_float64", {1, 256}, 0, parts.data(), out.data(),
           static_cast<long long>(sums.size()), 1.0, taking.threads, 1);
    return out.read()[0];
  } else {
    const std::vector<long long> parts = row_parts_of<long long>(
        name_of<T>("sum_row"), x, offset, taking.part, taking.threads, size);
    return static_cast<double>(
        row_parts_of<long long>("sum_row_int64", parts, 0, 1 << 30, 256, 1)[0]);
  }
}

template <typename T>
double extremum_of(const char* kernel, const std::vector<T>& x, size_t offset, long long part) {
  const std::vector<T> parts = row_parts_of<T>(name_of<T>(kernel), x, offset, part);
  return to_double(row_parts_of<T>(name_of<T>(kernel), parts, 0, 1 << 30)[0]);
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
  Check sums(name_of<T>("sum") + " is exact for every length, offset and way to take a row");
  Check extrema(name_of<T>("min, max") + " are exact for every length, offset and part");
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
      for (const Taking& taking : takings) {
        if (taking.is_packed && n % (16 / sizeof(T)) != 0) continue;
        const double found = sum_of(x, offset, taking);
        sums.that(found == sum, "n %zu, offset %zu, part %lld, threads %d, packed %d: %g, not %g",
                  n, offset, taking.part, taking.threads, taking.is_packed, found, sum);
      }
      if (n == 0) continue;
      for (const long long part : {1LL << 30, 1000LL}) {
        const double low = extremum_of("min_row", x, offset, part);
        const double high = extremum_of("max_row", x, offset, part);
        extrema.that(low == least && high == greatest,
                     "n %zu, offset %zu, part %lld: %g and %g, not %g and %g", n, offset, part, low,
                     high, least, greatest);
      }
      for (const Geometry geometry : geometries) {
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
    launch(name_of<T>("histogram_shared"), geometry, (bins + 1) * copies * 4, elements.data(),
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

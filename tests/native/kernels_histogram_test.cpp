// Both histograms against the formula in float64: the counts agree exactly, also on the edges of
// bins, and are added to what is there.
#include <cmath>

#include "kernels_elements.h"
#include "kernels_launch.h"
#include "kernels_test.h"

namespace kernels_test {
namespace {

struct Range {
  unsigned int bins;
  double low;
  double high;
};

// No operation may be contracted or kept in a wider register.
template <typename T>
void count_reference(const std::vector<T>& x, const Range& range,
                     std::vector<unsigned int>& counts) {
  const volatile double width = range.high - range.low;
  const volatile double scale = range.bins / width;
  for (const T element : x) {
    const double value = to_double(element);
    if (!(value >= range.low && value <= range.high)) {
      continue;
    }
    const volatile double distance = value - range.low;
    const volatile double product = distance * scale;
    const double bin = std::min(std::floor(product), range.bins - 1.0);
    ++counts[static_cast<size_t>(bin)];
  }
}

template <typename T>
void check_counts(const char* variant, const std::vector<T>& x, const Range& range,
                  Check& check) {
  const std::string name = name_of<T>(variant);
  const size_t shared = name.find("shared") != std::string::npos ? range.bins * 4 : 0;
  std::vector<unsigned int> expected(range.bins, 5);
  count_reference(x, range, expected);
  for (const size_t offset : {0, 1}) {
    const DeviceArray<T> device_x(x, offset);
    for (const Geometry geometry : geometries) {
      const DeviceArray<unsigned int> counts(std::vector<unsigned int>(range.bins, 5));
      launch(name, geometry, shared, device_x.data(), counts.data(), range.bins, range.low,
             range.high, static_cast<unsigned long long>(x.size()));
      check.that(counts.read() == expected && counts.guards_intact(),
                 "n %zu, offset %zu, grid %u, block %u, %u bins of [%g, %g]", x.size(), offset,
                 geometry.grid, geometry.block, range.bins, range.low, range.high);
    }
  }
}

// Ranges that the type's values meet, leave, and miss.
template <typename T>
std::vector<Range> ranges_of() {
  std::vector<Range> ranges = {{1, 0, 1}, {7, 10, 110}, {256, 0, 256}, {1000, -3.7, 93.1},
                               {5, 1000000, 1000001}};
  if constexpr (sizeof(T) >= 4) {
    ranges.push_back({8191, -1e9, 2e9});
  }
  return ranges;
}

// Also the edges of bins themselves, where a different rounding would be seen.
template <typename T>
std::vector<T> elements_around(const Range& range, size_t n) {
  std::vector<T> x = random_values<T>(n, 0, 127, 41);
  const double width = (range.high - range.low) / range.bins;
  for (size_t i = 0; i < n; i += 3) {
    const double edge = range.low + width * static_cast<double>(i % (range.bins + 1));
    const bool representable = is_float<T> || (edge >= 0 && edge <= 127);
    x[i] = representable ? from_double<T>(edge) : x[i];
  }
  return x;
}

template <typename T>
void check_variant(const char* variant) {
  Check check(name_of<T>(variant) + " counts as float64 does");
  for (const Range& range : ranges_of<T>()) {
    for (const size_t n : {size_t(0), size_t(1), size_t(31), size_t(1025), size_t(20011)}) {
      check_counts(variant, elements_around<T>(range, n), range, check);
    }
    check_counts(variant, random_patterns<T>(4099, 43), range, check);
    check_counts(variant, std::vector<T>(4099, from_double<T>(11)), range, check);
  }
}

template <typename T>
void check_specials(const char* variant) {
  Check check(name_of<T>(variant) + " ignores NaN and infinities and keeps both ends");
  const Range range = {10, -1, 1};
  std::vector<T> x;
  for (const double value : {double(NAN), double(INFINITY), -double(INFINITY), -1.0, 1.0, 1.0,
                             -0.0, -1.5, 1.5, 0.9990234375}) {
    x.push_back(from_double<T>(value));
  }
  check_counts(variant, x, range, check);
}

}  // namespace

void test_histograms() {
  for (const char* variant : {"histogram_shared", "histogram_global"}) {
    for_each_numeric_type([&](auto zero) { check_variant<decltype(zero)>(variant); });
    for_each_floating_type([&](auto zero) { check_specials<decltype(zero)>(variant); });
  }
}

}  // namespace kernels_test

// min_partial and max_partial, run on the elements and again on their own results.
#include <limits>

#include "kernels_elements.h"
#include "kernels_launch.h"
#include "kernels_test.h"

namespace kernels_test {
namespace {

enum class Which { minimum, maximum };

template <typename T>
T extremum(Which which, const std::vector<T>& x, size_t offset, Geometry geometry) {
  const std::string name = name_of<T>(which == Which::minimum ? "min_partial" : "max_partial");
  const DeviceArray<T> device_x(x, offset);
  const DeviceArray<T> partials(std::vector<T>(geometry.grid), 1);
  const DeviceArray<T> out(std::vector<T>(1));
  launch(name, geometry, 0, device_x.data(), partials.data(),
         static_cast<unsigned long long>(x.size()));
  require(partials.guards_intact() ? cudaSuccess : cudaErrorUnknown, "keep within the partials");
  launch(name, {1, 64}, 0, partials.data(), out.data(),
         static_cast<unsigned long long>(geometry.grid));
  return out.read()[0];
}

// What a block without elements writes.
template <typename T>
T neutral(Which which) {
  if constexpr (is_float<T>) {
    return from_double<T>(which == Which::minimum ? INFINITY : -INFINITY);
  } else {
    using Limits = std::numeric_limits<T>;
    return which == Which::minimum ? Limits::max() : Limits::min();
  }
}

template <typename T>
T reference(Which which, const std::vector<T>& x) {
  T best = neutral<T>(which);
  for (const T value : x) {
    const bool better = which == Which::minimum ? value < best : value > best;
    best = better ? value : best;
  }
  return best;
}

template <typename T>
std::vector<T> random_numbers(size_t n) {
  std::vector<T> x = random_patterns<T>(n, 31);
  for (T& value : x) {
    if (std::isnan(to_double(value))) {
      value = from_double<T>(0.5);
    }
  }
  return x;
}

template <typename T>
void check_exact(Which which) {
  Check check(name_of<T>(which == Which::minimum ? "min" : "max") + " is exact");
  for (const size_t n : lengths) {
    const std::vector<T> x = random_numbers<T>(n);
    const T expected = reference(which, x);
    for (const size_t offset : {0, 1, 7}) {
      for (const Geometry geometry : geometries) {
        const T result = extremum(which, x, offset, geometry);
        check.that(to_double(result) == to_double(expected),
                   "n %zu, offset %zu, grid %u, block %u: %g, not %g", n, offset, geometry.grid,
                   geometry.block, to_double(result), to_double(expected));
      }
    }
  }
}

// The one element that counts is found at every place of an array with edges and several tiles.
template <typename T>
void check_every_place(Which which) {
  Check check(name_of<T>(which == Which::minimum ? "min" : "max") + " finds it at every place");
  constexpr size_t n = 1031;
  const T ordinary = from_double<T>(1);
  const T sought = from_double<T>(which == Which::minimum ? 0 : 2);
  for (size_t place = 0; place < n; place += 1 + place / 40) {
    std::vector<T> x(n, ordinary);
    x[place] = sought;
    const T result = extremum(which, x, 1, {2, 32});
    check.that(same(result, sought), "place %zu: %g", place, to_double(result));
  }
}

template <typename T>
void check_not_a_number(Which which) {
  Check check(name_of<T>(which == Which::minimum ? "min" : "max") + " is NaN with a NaN anywhere");
  constexpr size_t n = 1031;
  for (size_t place = 0; place < n; place += 1 + place / 20) {
    std::vector<T> x(n, from_double<T>(which == Which::minimum ? -INFINITY : INFINITY));
    x[place] = from_double<T>(NAN);
    const T result = extremum(which, x, 3, {3, 64});
    check.that(std::isnan(to_double(result)), "place %zu: %g", place, to_double(result));
  }
  const std::vector<T> x(n, from_double<T>(NAN));
  check.that(std::isnan(to_double(extremum(which, x, 0, {1, 32}))), "all NaN");
}

}  // namespace

void test_extrema() {
  for (const Which which : {Which::minimum, Which::maximum}) {
    for_each_numeric_type([&](auto zero) {
      check_exact<decltype(zero)>(which);
      check_every_place<decltype(zero)>(which);
    });
    for_each_floating_type([&](auto zero) { check_not_a_number<decltype(zero)>(which); });
  }
}

}  // namespace kernels_test

// fill, add, multiply, scale and axpy against references computed element by element: every
// length, offset and geometry gives the same bits, in place too, and nothing else is written.
#include "kernels_elements.h"
#include "kernels_launch.h"
#include "kernels_test.h"

namespace kernels_test {
namespace {

constexpr unsigned int seed_x = 11;
constexpr unsigned int seed_y = 23;

// Offsets of the operands from a 16-byte boundary, in elements: aligned, aligned alike, unlike.
constexpr size_t offsets[][3] = {{0, 0, 0}, {1, 1, 1}, {3, 19, 35}, {0, 1, 0}, {1, 2, 3}};

template <typename T>
T reference_add(T x, T y) {
  if constexpr (is_float<T>) {
    // The double sum of two narrower numbers is close enough to be rounded to T correctly.
    return from_double<T>(to_double(x) + to_double(y));
  } else {
    return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  }
}

template <typename T>
T reference_multiply(T x, T y) {
  if constexpr (is_float<T>) {
    return from_double<T>(to_double(x) * to_double(y));
  } else {
    return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  }
}

template <typename T>
T reference_fused(double a, T x, T y) {
  if constexpr (std::is_same_v<T, double>) {
    return std::fma(a, x, y);
  } else {
    return from_double<T>(std::fma(static_cast<float>(a), static_cast<float>(to_double(x)),
                                   static_cast<float>(to_double(y))));
  }
}

template <typename T>
using Scalar = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T, typename Reference>
void check_out_of_place(const char* operation, Reference reference) {
  const std::string name = name_of<T>(operation);
  Check check(name + " is exact for every length, offset and geometry");
  for (const size_t n : lengths) {
    const std::vector<T> x = random_patterns<T>(n, seed_x);
    const std::vector<T> y = random_patterns<T>(n, seed_y);
    std::vector<T> expected(n);
    for (size_t i = 0; i < n; ++i) {
      expected[i] = reference(x[i], y[i]);
    }
    for (const auto& offset : offsets) {
      const DeviceArray<T> device_x(x, offset[0]);
      const DeviceArray<T> device_y(y, offset[1]);
      for (const Geometry geometry : geometries) {
        const DeviceArray<T> out(std::vector<T>(n), offset[2]);
        launch(name, geometry, 0, device_x.data(), device_y.data(), out.data(),
               static_cast<unsigned long long>(n));
        const std::vector<T> results = out.read();
        size_t right = 0;
        while (right < n && same(results[right], expected[right])) {
          ++right;
        }
        check.that(right == n && out.guards_intact(),
                   "n %zu, offsets %zu %zu %zu, grid %u, block %u: element %zu, or outside", n,
                   offset[0], offset[1], offset[2], geometry.grid, geometry.block, right);
      }
    }
  }
}

template <typename T, typename Reference>
void check_in_place(const char* operation, Reference reference) {
  const std::string name = name_of<T>(operation);
  Check check(name + " may write over either operand, or over both");
  for (const size_t n : {size_t(1), size_t(257), size_t(8209)}) {
    const std::vector<T> x = random_patterns<T>(n, seed_x);
    const std::vector<T> y = random_patterns<T>(n, seed_y);
    for (const int over : {0, 1, 2}) {
      const DeviceArray<T> device_x(x, 1);
      const DeviceArray<T> device_y(y, 1);
      const DeviceArray<T>& out = over == 1 ? device_y : device_x;
      const T* second = over == 2 ? device_x.data() : device_y.data();
      launch(name, {3, 96}, 0, device_x.data(), second, out.data(),
             static_cast<unsigned long long>(n));
      const std::vector<T> results = out.read();
      bool exact = true;
      for (size_t i = 0; i < n; ++i) {
        exact = exact && same(results[i], reference(x[i], over == 2 ? x[i] : y[i]));
      }
      check.that(exact, "n %zu, operand %d", n, over);
    }
  }
}

template <typename T>
void check_fill(const char* name) {
  Check check(std::string(name) + " writes the pattern everywhere and nowhere else");
  const T value = random_patterns<T>(1, seed_x)[0];
  for (const size_t n : lengths) {
    for (const size_t offset : {0, 1, 5, 16}) {
      for (const Geometry geometry : geometries) {
        const DeviceArray<T> out(std::vector<T>(n), offset);
        launch(name, geometry, 0, out.data(), value, static_cast<unsigned long long>(n));
        const bool exact = out.read() == std::vector<T>(n, value);
        check.that(exact && out.guards_intact(), "n %zu, offset %zu, grid %u, block %u", n, offset,
                   geometry.grid, geometry.block);
      }
    }
  }
}

template <typename T>
void check_scale(bool in_place) {
  const std::string name = name_of<T>("scale");
  Check check(name + (in_place ? " rounds once, in place" : " rounds once"));
  const Scalar<T> factor = static_cast<Scalar<T>>(-1.1);
  const Scalar<T> offset = static_cast<Scalar<T>>(0.7);
  for (const size_t n : lengths) {
    const std::vector<T> x = random_patterns<T>(n, seed_x);
    for (const size_t shift : {0, 1, 4}) {
      const DeviceArray<T> device_x(x, 1);
      const DeviceArray<T> other(std::vector<T>(n), shift);
      const DeviceArray<T>& out = in_place ? device_x : other;
      launch(name, {3, 96}, 0, device_x.data(), out.data(), factor, offset,
             static_cast<unsigned long long>(n));
      const std::vector<T> results = out.read();
      bool exact = out.guards_intact();
      for (size_t i = 0; i < n; ++i) {
        // offset need not be representable in T, so the reference takes it apart from T.
        const T expected =
            std::is_same_v<T, double>
                ? from_double<T>(std::fma(double(factor), to_double(x[i]), double(offset)))
                : from_double<T>(std::fma(float(factor), float(to_double(x[i])), float(offset)));
        exact = exact && same(results[i], expected);
      }
      check.that(exact, "n %zu, offset %zu", n, shift);
    }
  }
}

template <typename T>
void check_axpy() {
  const std::string name = name_of<T>("axpy");
  Check check(name + " rounds once, also where x is y");
  const Scalar<T> a = static_cast<Scalar<T>>(1.7);
  for (const size_t n : lengths) {
    const std::vector<T> x = random_patterns<T>(n, seed_x);
    const std::vector<T> y = random_patterns<T>(n, seed_y);
    for (const int variant : {0, 1, 2}) {
      const DeviceArray<T> device_x(x, 1);
      const DeviceArray<T> other(y, variant == 0 ? 1 : 2);
      const DeviceArray<T>& device_y = variant == 2 ? device_x : other;
      launch(name, {7, 256}, 0, a, device_x.data(), device_y.data(),
             static_cast<unsigned long long>(n));
      const std::vector<T> results = device_y.read();
      bool exact = device_y.guards_intact();
      for (size_t i = 0; i < n; ++i) {
        exact = exact && same(results[i], reference_fused(a, x[i], variant == 2 ? x[i] : y[i]));
      }
      check.that(exact, "n %zu, variant %d", n, variant);
    }
  }
}

}  // namespace

void test_elementwise() {
  check_fill<unsigned char>("fill_uint8");
  check_fill<unsigned short>("fill_uint16");
  check_fill<unsigned int>("fill_uint32");
  check_fill<unsigned long long>("fill_uint64");
  for_each_numeric_type([](auto zero) {
    using T = decltype(zero);
    check_out_of_place<T>("add", reference_add<T>);
    check_out_of_place<T>("multiply", reference_multiply<T>);
    check_in_place<T>("add", reference_add<T>);
    check_in_place<T>("multiply", reference_multiply<T>);
  });
  for_each_floating_type([](auto zero) {
    using T = decltype(zero);
    check_scale<T>(false);
    check_scale<T>(true);
    check_axpy<T>();
  });
}

}  // namespace kernels_test

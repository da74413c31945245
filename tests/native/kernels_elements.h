// The element types as the tests of the kernels see them: their names, values that are hard on
// kernels, and comparison.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace kernels_test {

template <typename T>
struct ElementName;

#define GS_ELEMENT_NAME(type, name)                       \
  template <>                                             \
  struct ElementName<type> {                              \
    static constexpr const char* value = name;            \
  }
GS_ELEMENT_NAME(double, "float64");
GS_ELEMENT_NAME(float, "float32");
GS_ELEMENT_NAME(__half, "float16");
GS_ELEMENT_NAME(__nv_bfloat16, "bfloat16");
GS_ELEMENT_NAME(long long, "int64");
GS_ELEMENT_NAME(unsigned long long, "uint64");
GS_ELEMENT_NAME(int, "int32");
GS_ELEMENT_NAME(unsigned int, "uint32");
GS_ELEMENT_NAME(short, "int16");
GS_ELEMENT_NAME(unsigned short, "uint16");
GS_ELEMENT_NAME(signed char, "int8");
GS_ELEMENT_NAME(unsigned char, "uint8");
#undef GS_ELEMENT_NAME

template <typename T>
std::string name_of(const char* operation) {
  return std::string(operation) + "_" + ElementName<T>::value;
}

template <typename T>
constexpr bool is_float =
    std::is_floating_point_v<T> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

// Half a unit in the last place of 1.
template <typename T>
constexpr double unit_roundoff = std::is_same_v<T, double>          ? 0x1p-53
                                 : std::is_same_v<T, float>         ? 0x1p-24
                                 : std::is_same_v<T, __half>        ? 0x1p-11
                                 : std::is_same_v<T, __nv_bfloat16> ? 0x1p-8
                                                                    : 0;

inline double to_double(__half value) { return __half2float(value); }
inline double to_double(__nv_bfloat16 value) { return __bfloat162float(value); }
template <typename T>
double to_double(T value) {
  return static_cast<double>(value);
}

template <typename T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __double2half(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __double2bfloat16(value);
  } else {
    return static_cast<T>(value);
  }
}

// Bit by bit, but any NaN equals any other.
template <typename T>
bool same(T x, T y) {
  if constexpr (is_float<T>) {
    if (std::isnan(to_double(x)) || std::isnan(to_double(y))) {
      return std::isnan(to_double(x)) && std::isnan(to_double(y));
    }
  }
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}

// Random bit patterns: every order of magnitude, infinities, NaN, all extremes of integers.
template <typename T>
std::vector<T> random_patterns(size_t n, unsigned int seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> values(n);
  for (T& value : values) {
    const uint64_t bits = engine();
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  }
  return values;
}

// Values in [low, high], rounded to the type.
template <typename T>
std::vector<T> random_values(size_t n, double low, double high, unsigned int seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> values(n);
  for (T& value : values) {
    value = from_double<T>(uniform(engine));
  }
  return values;
}

template <typename Visitor>
void for_each_floating_type(Visitor visit) {
  visit(double{});
  visit(float{});
  visit(__half{});
  visit(__nv_bfloat16{});
}

template <typename Visitor>
void for_each_integer_type(Visitor visit) {
  visit(0ll);
  visit(0ull);
  visit(int{});
  visit(0u);
  visit(short{});
  visit(static_cast<unsigned short>(0));
  visit(static_cast<signed char>(0));
  visit(static_cast<unsigned char>(0));
}

template <typename Visitor>
void for_each_numeric_type(Visitor visit) {
  for_each_floating_type(visit);
  for_each_integer_type(visit);
}

}  // namespace kernels_test

// Proves that the kernel language of the host device computes what a GPU computes: vector types,
// bit functions, conversions, rounded arithmetic, the math library, half, bfloat16 and atomics, and
// every line of csrc/host/DIFFERENCES.md.
//
//   c++ -std=c++17 -O2 -Icsrc/host/include tests/native/language_test.cpp
//       tests/native/language/*.cpp -pthread
//
// Needs no library: language/atomics.cpp stands in for the scheduler. Prints one line per check and
// exits with 1 when one failed.
#include <cstdio>

#include "language/check.h"
#include "language/suites.h"

int main() {
  // A crash must not take the lines before it along.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  check_vector_types();
  check_bit_functions();
  check_packed_arithmetic();
  check_dynamic_programming();
  check_conversions();
  check_rounded_arithmetic();
  check_math_functions();
  check_float16_conversions();
  check_float16_arithmetic();
  check_float16_functions();
  check_atomics();
  check_differences();
  std::printf("%ld of %ld checks failed\n", Check::failed_checks, Check::finished_checks);
  return Check::failed_checks == 0 ? 0 : 1;
}

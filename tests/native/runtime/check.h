// One line per check on standard output; the program's exit status is 1 if one failed.
#pragma once

#include <string>

#include "cuda_runtime.h"

namespace runtime_test {

void begin_suite(const char* name);

// Prints the outcome of a check. The claim is a statement, such as "freeing null works".
bool check(bool holds, const std::string& statement, const char* file, int line);

// A check that a CUDA call returned the expected status.
bool check_status(cudaError_t actual, cudaError_t expected, const std::string& statement,
                  const char* file, int line);

int failure_count();

}  // namespace runtime_test

#define CHECK(condition, statement) \
  ::runtime_test::check((condition), (statement), __FILE__, __LINE__)
#define CHECK_STATUS(call, expected, statement) \
  ::runtime_test::check_status((call), (expected), (statement), __FILE__, __LINE__)

// For calls that the check at hand needs: silent when they succeed.
#define REQUIRE(call)                                          \
  do {                                                         \
    const cudaError_t required = (call);                       \
    if (required != cudaSuccess) {                             \
      CHECK_STATUS(required, cudaSuccess, #call " succeeds"); \
    }                                                          \
  } while (false)

// Printing and counting of checks.
#include "check.h"

#include <atomic>
#include <cstdio>
#include <mutex>

namespace runtime_test {
namespace {

std::atomic<int> failures{0};
std::mutex print_mutex;
const char* suite = "";

}  // namespace

void begin_suite(const char* name) { suite = name; }

bool check(bool holds, const std::string& statement, const char* file, int line) {
  const std::lock_guard<std::mutex> lock(print_mutex);
  if (holds) {
    std::printf("ok   %s: %s\n", suite, statement.c_str());
  } else {
    ++failures;
    std::printf("FAIL %s: %s (%s:%d)\n", suite, statement.c_str(), file, line);
  }
  std::fflush(stdout);
  return holds;
}

bool check_status(cudaError_t actual, cudaError_t expected, const std::string& statement,
                  const char* file, int line) {
  if (actual == expected) return check(true, statement, file, line);
  return check(false,
               statement + ": expected " + cudaGetErrorName(expected) + ", got " +
                   cudaGetErrorName(actual),
               file, line);
}

int failure_count() { return failures; }

}  // namespace runtime_test

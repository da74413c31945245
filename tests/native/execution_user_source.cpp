// What users' files find before their first line: dynamic shared memory, printf, clock, words that
// nvcc reads differently. This file is compiled as one of them is, with C++'s own headers after
// that line.
#include <gridstride/user_source.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

#include "execution_check.h"

namespace execution {
namespace {

// ---- words -------------------------------------------------------------------------------------

struct alignas(32) Wide {
  float values[3];
};
static_assert(alignof(Wide) == 32 && sizeof(Wide) == 32, "alignas of a number");
template <class T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};
static_assert(alignof(Four<double>) == 32, "alignas of an expression with parameters");

__device__ __noinline__ int twice(int x) { return 2 * x; }

__global__ void use_words(unsigned long* out) {
  __shared__ alignas(64) float first[3];
  __shared__ alignas(double) char second[1];
  alignas(float4) char third[1];
  first[threadIdx.x] = static_cast<float>(twice(21));
  second[0] = third[0] = 1;
  out[0] = reinterpret_cast<unsigned long>(first) % 64;
  out[1] = reinterpret_cast<unsigned long>(second) % 8;
  out[2] = reinterpret_cast<unsigned long>(third) % 16;
  out[3] = static_cast<unsigned long>(first[threadIdx.x]);
}

void check_words() {
  unsigned long out[4] = {1, 1, 1, 1};
  const Outcome outcome = run<use_words>(1, 1, 0, out);
  check(outcome.code == cudaSuccess && out[0] + out[1] + out[2] == 0 && out[3] == 42,
        "alignas after __shared__, and __noinline__", outcome.description);
}

// ---- dynamic shared memory ---------------------------------------------------------------------

template <class T>
__global__ void reverse_dynamic(T* out) {
  T(&values)[] = GS_HOST_DYNAMIC_SHARED;
  T(&rows)[][3] = GS_HOST_DYNAMIC_SHARED;
  unsigned char(&bytes)[] = GS_HOST_DYNAMIC_SHARED;
  const unsigned last = blockDim.x - 1 - threadIdx.x;
  values[threadIdx.x] = static_cast<T>(threadIdx.x);
  __syncthreads();
  const T* const again = reinterpret_cast<const T*>(&bytes);
  out[threadIdx.x] = rows[last / 3][last % 3] + again[last] - values[last];
}

template <class T>
void check_dynamic(const char* type) {
  T out[65];
  const Outcome outcome = run<reverse_dynamic<T>>(1, 65, 66 * sizeof(T), out);
  bool right = outcome.code == cudaSuccess;
  for (int i = 0; i < 65; ++i) right = right && out[i] == static_cast<T>(64 - i);
  check(right, std::string("dynamic shared memory of ") + type, outcome.description);
}

// ---- clock -------------------------------------------------------------------------------------

struct Timer {
  long clock() const { return 7; }
};

__global__ void read_clocks(long* out) {
  const clock_t before = clock();
  const long long wide = clock64();
  const clock_t after = ::clock();
  out[0] = before <= wide && wide <= after && before > 0;
  out[1] = Timer().clock();
}

void check_clock() {
  long out[2] = {};
  const Outcome outcome = run<read_clocks>(1, 1, 0, out);
  check(outcome.code == cudaSuccess && out[0] == 1 && out[1] == 7,
        "clock() counts what clock64() counts", outcome.description);
}

// ---- printf ------------------------------------------------------------------------------------

// Captures standard output while an object of this type lives.
class Capture {
 public:
  Capture() : file_(std::tmpfile()), output_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    dup2(fileno(file_), STDOUT_FILENO);
  }
  std::string end() {
    std::fflush(stdout);
    dup2(output_, STDOUT_FILENO);
    close(output_);
    std::string text(static_cast<size_t>(std::ftell((std::fseek(file_, 0, SEEK_END), file_))), ' ');
    std::rewind(file_);
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    std::fclose(file_);
    return text;
  }

 private:
  FILE* file_;
  int output_;
};

__global__ void print_values(int* out, const char* none) {
  out[0] = printf("%5.2f|%-4d|%+d|%x|%c|%s|%%|%lld|%zu\n", 3.14159, 42, 7, 255u, 'c', "text",
                  -(1ll << 40), sizeof(int));
  out[1] = std::printf("no arguments\n");
  out[2] = printf("%*d|%.*f\n", 6, 12, 2, 0.5);
  out[3] = printf(none, 1);
  out[4] = printf("%s", "");
}

void check_values() {
  int out[5] = {};
  Capture capture;
  const Outcome outcome = run<print_values>(1, 1, 0, out, static_cast<const char*>(nullptr));
  const std::string text = capture.end();
  check(outcome.code == cudaSuccess &&
            text == " 3.14|42  |+7|ff|c|text|%|-1099511627776|4\nno arguments\n    12|0.50\n",
        "printf writes what the C library's does", text);
  check(out[0] == 8 && out[1] == 0 && out[2] == 4 && out[3] == -1 && out[4] == 1,
        "printf returns the number of its arguments");
}

// Longer than any buffer, and than a pipe takes at once.
__global__ void print_long(const char* text) {
  printf("%s;%u\n", text, blockIdx.x * blockDim.x + threadIdx.x);
}

void check_whole_lines(size_t length) {
  const std::string text(length, 'a');
  Capture capture;
  const Outcome outcome = run<print_long>(8, 5, 0, text.c_str());
  const std::string written = capture.end();
  std::vector<int> seen(40);
  size_t at = 0;
  bool right = outcome.code == cudaSuccess;
  while (right && at < written.size()) {
    const size_t end = written.find('\n', at);
    right = end != std::string::npos && written.compare(at, length, text) == 0 &&
            written[at + length] == ';';
    if (!right) break;
    const auto thread = std::stoul(written.substr(at + length + 1, end - at - length - 1));
    if (thread < seen.size()) seen[thread]++;
    at = end + 1;
  }
  check(right && seen == std::vector<int>(40, 1),
        "threads write whole lines of " + std::to_string(length) + " characters",
        outcome.description);
}

// A fault while printf reads its arguments must not silence the kernels that come after.
__global__ void print_wild(const char* text) { printf("%s\n", text); }

void check_fault_in_printf() {
  Capture capture;
  const Outcome failed = run<print_wild>(1, 1, 0, reinterpret_cast<const char*>(16));
  const Outcome outcome = run<print_wild>(1, 1, 0, static_cast<const char*>("still here"));
  const std::string text = capture.end();
  check(failed.code == cudaErrorIllegalAddress && outcome.code == cudaSuccess &&
            text == "still here\n",
        "printf of a wild address is a fault, and the next one prints", text);
}

}  // namespace

void check_user_source() {
  check_words();
  check_dynamic<unsigned char>("bytes");
  check_dynamic<float>("float");
  check_dynamic<double>("double");
  check_clock();
  check_values();
  for (const size_t length : {size_t{0}, size_t{1}, size_t{1021}, size_t{1022}, size_t{70000}}) {
    check_whole_lines(length);
  }
  check_fault_in_printf();
}

}  // namespace execution

// Support for the tests of the kernels: checks that print a line each, arrays in device memory that
// notice writes around them, and kernels launched by their registered names.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "shim/launch/kernel_registry.h"

namespace kernels_test {

inline int failed_checks = 0;

// One line of the report: the claim, the number of cases, and the first case that fails.
class Check {
 public:
  explicit Check(std::string claim) : claim_(std::move(claim)) {}
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  ~Check() {
    const bool passed = failures_ == 0 && cases_ > 0;
    std::printf("%s %s (%ld cases)\n", passed ? "ok  " : "FAIL", claim_.c_str(), cases_);
    if (!passed) {
      std::printf("     %ld failures, first: %s\n", failures_, first_failure_.c_str());
      ++failed_checks;
    }
  }

  // The text says, as printf would, which case it is and what came of it.
  __attribute__((format(printf, 3, 4))) void that(bool holds, const char* format, ...) {
    ++cases_;
    if (holds || failures_++ > 0) {
      return;
    }
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    first_failure_ = text;
  }

 private:
  std::string claim_;
  std::string first_failure_ = "no case ran";
  long cases_ = 0;
  long failures_ = 0;
};

// For calls that no test is about: a broken runtime ends the program.
inline void require(cudaError_t status, const char* action) {
  if (status != cudaSuccess) {
    std::printf("FAIL cannot %s: %s\n", action, cudaGetErrorString(status));
    std::exit(2);
  }
}

// An array in device memory, offset elements behind a 256-byte boundary, between guards.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values, size_t offset = 0)
      : before_(offset * sizeof(T) + 256), bytes_(values.size() * sizeof(T)) {
    require(cudaMalloc(&memory_, before_ + bytes_ + 256), "allocate");
    require(cudaMemset(memory_, guard, before_ + bytes_ + 256), "fill the guards");
    if (bytes_ > 0) {
      require(cudaMemcpy(memory_ + before_, values.data(), bytes_, cudaMemcpyHostToDevice),
              "upload");
    }
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(memory_); }

  T* data() const { return reinterpret_cast<T*>(memory_ + before_); }

  std::vector<T> read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    if (bytes_ > 0) {
      require(cudaMemcpy(values.data(), memory_ + before_, bytes_, cudaMemcpyDeviceToHost),
              "read back");
    }
    return values;
  }

  bool guards_intact() const {
    std::vector<unsigned char> all(before_ + bytes_ + 256);
    require(cudaMemcpy(all.data(), memory_, all.size(), cudaMemcpyDeviceToHost), "read guards");
    for (size_t i = 0; i < all.size(); ++i) {
      if ((i < before_ || i >= before_ + bytes_) && all[i] != guard) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr unsigned char guard = 0xa5;

  unsigned char* memory_ = nullptr;
  size_t before_;
  size_t bytes_;
};

struct Geometry {
  unsigned int grid;
  unsigned int block;
};

// One warp, blocks that are no power of two, more threads than elements, and the largest block.
constexpr Geometry geometries[] = {{1, 32}, {3, 96}, {7, 256}, {2, 1024}, {40, 64}};

// Lengths around the widths of packets, batches and tiles, and primes.
constexpr size_t lengths[] = {0,   1,   2,   3,    7,    8,    15,   16,   17,
                              31,  33,  127, 257,  1021, 1025, 4096, 8209, 70001};

inline const gridstride::Kernel& kernel_named(const std::string& name) {
  for (const gridstride::Kernel* kernel : gridstride::kernels()) {
    if (kernel->name() == name) {
      return *kernel;
    }
  }
  std::printf("FAIL no kernel is named %s\n", name.c_str());
  std::exit(2);
}

// Launches and returns at once. The arguments must have the types of the parameters; their count
// and sizes are compared.
template <typename... Arguments>
void enqueue(const std::string& name, Geometry geometry, size_t shared_bytes, cudaStream_t stream,
             Arguments... arguments) {
  const gridstride::Kernel& kernel = kernel_named(name);
  const gridstride::Launchable& launchable = kernel.launchable();
  const size_t sizes[] = {sizeof(Arguments)..., 0};
  bool agree = launchable.parameter_count == static_cast<int>(sizeof...(Arguments));
  for (int i = 0; agree && i < launchable.parameter_count; ++i) {
    agree = launchable.parameters[i].bytes == sizes[i];
  }
  if (!agree) {
    std::printf("FAIL the test does not launch %s\n", kernel.declaration().c_str());
    std::exit(2);
  }
  void* pointers[] = {&arguments..., nullptr};
  require(cudaLaunchKernel(launchable.function, dim3(geometry.grid), dim3(geometry.block), pointers,
                           shared_bytes, stream),
          "launch");
}

// Launches and waits.
template <typename... Arguments>
void launch(const std::string& name, Geometry geometry, size_t shared_bytes,
            Arguments... arguments) {
  enqueue(name, geometry, shared_bytes, nullptr, arguments...);
  require(cudaDeviceSynchronize(), name.c_str());
}

}  // namespace kernels_test

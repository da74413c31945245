// Checking copies and fills, and putting them into streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gridstride/runtime_types.h"

namespace gridstride::host {

constexpr int any_device = -1;

struct CopyRequest {
  void* destination = nullptr;
  std::size_t destination_pitch = 0;
  const void* source = nullptr;
  std::size_t source_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 1;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  cudaStream_t stream = nullptr;
  // The devices that must own the two ranges; any_device where the kind decides.
  int destination_device = any_device;
  int source_device = any_device;
  // Return when done. Copies of pageable host memory do so in any case.
  bool waits = false;
};

struct FillRequest {
  void* destination = nullptr;
  std::uint32_t value = 0;
  std::size_t element_bytes = 1;
  std::size_t bytes = 0;
  cudaStream_t stream = nullptr;
};

// Pitches are not looked at where height is 1: a row alone has none.
cudaError_t copy(const CopyRequest& request);
cudaError_t fill(const FillRequest& request);

}  // namespace gridstride::host

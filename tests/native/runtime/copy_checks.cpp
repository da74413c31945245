// Copies and fills: all directions, sizes around every boundary, pitches, and refused calls.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "cuda.h"
#include "suites.h"

namespace runtime_test {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::size_t piece = std::size_t{4} << 20;
constexpr unsigned char untouched = 0xee;

// Different at every offset below 2^24 and different for every seed.
Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes values(bytes);
  for (std::size_t index = 0; index < bytes; ++index) {
    const auto mixed = static_cast<std::uint32_t>(index * 2654435761u + seed * 97u);
    values[index] = static_cast<unsigned char>(mixed >> 24);
  }
  return values;
}

unsigned char* allocate(std::size_t bytes) {
  unsigned char* address = nullptr;
  REQUIRE(cudaMalloc(&address, bytes));
  return address;
}

Bytes download(const unsigned char* address, std::size_t bytes) {
  Bytes values(bytes);
  REQUIRE(cudaMemcpy(values.data(), address, bytes, cudaMemcpyDeviceToHost));
  return values;
}

void check_sizes() {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{511}, std::size_t{4096},
                                  std::size_t{65537}, (std::size_t{1} << 20) + 1, piece - 1,
                                  piece, piece + 1, std::size_t{13000027}}) {
    const Bytes source = pattern(bytes, 1);
    unsigned char* const first = allocate(bytes);
    unsigned char* const second = allocate(bytes);
    REQUIRE(cudaMemcpy(first, source.data(), bytes, cudaMemcpyHostToDevice));
    REQUIRE(cudaMemcpy(second, first, bytes, cudaMemcpyDeviceToDevice));
    Bytes back(bytes, untouched);
    REQUIRE(cudaMemcpy(back.data(), second, bytes, cudaMemcpyDefault));
    CHECK(back == source, std::to_string(bytes) + " bytes go to the device, across and back");
    REQUIRE(cudaFree(first));
    REQUIRE(cudaFree(second));
  }
}

void check_refusals() {
  constexpr std::size_t bytes = 10000;
  unsigned char* const device = allocate(bytes);
  Bytes host = pattern(bytes + 1, 2);
  const auto refused = [&](void* destination, const void* source, std::size_t count,
                           cudaMemcpyKind kind, const char* statement) {
    CHECK_STATUS(cudaMemcpy(destination, source, count, kind), cudaErrorInvalidValue, statement);
  };
  refused(device, host.data(), bytes + 1, cudaMemcpyHostToDevice, "a byte too many is refused");
  refused(device + bytes, host.data(), 1, cudaMemcpyHostToDevice, "a start behind is refused");
  refused(host.data(), device - 1, 1, cudaMemcpyDeviceToHost, "a start before is refused");
  refused(device, host.data(), SIZE_MAX, cudaMemcpyHostToDevice, "the largest size is refused");
  refused(device, nullptr, 1, cudaMemcpyHostToDevice, "a null source is refused");
  refused(nullptr, device, 1, cudaMemcpyDeviceToHost, "a null destination is refused");
  refused(device, host.data(), 1, cudaMemcpyDeviceToHost, "the wrong direction is refused");
  refused(host.data(), device, 1, cudaMemcpyHostToDevice, "and the opposite one");
  refused(device, host.data(), 1, cudaMemcpyDeviceToDevice, "host memory is no device memory");
  refused(host.data(), device, 1, cudaMemcpyHostToHost, "device memory is no host memory");
  void* const hole = mmap(nullptr, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(hole, 1 << 20);
  refused(device, hole, bytes, cudaMemcpyHostToDevice, "an unmapped source is refused");
  refused(hole, device, bytes, cudaMemcpyDeviceToHost, "an unmapped destination is refused");
  CHECK_STATUS(cudaMemcpy(device, host.data(), 1, static_cast<cudaMemcpyKind>(7)),
               cudaErrorInvalidMemcpyDirection, "an unknown direction is refused");
  CHECK_STATUS(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice), cudaSuccess,
               "nothing is copied from and to anywhere");
  REQUIRE(cudaFree(device));
  refused(device, host.data(), 1, cudaMemcpyHostToDevice, "freed memory is refused");
}

void check_peers() {
  constexpr std::size_t bytes = piece + 12345;
  const Bytes source = pattern(bytes, 3);
  unsigned char* const here = allocate(bytes);
  REQUIRE(cudaSetDevice(second_device));
  unsigned char* const there = allocate(bytes);
  REQUIRE(cudaMemcpy(there, source.data(), bytes, cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpyPeer(here, first_device, there, second_device, bytes));
  CHECK(download(here, bytes) == source, "memory is copied between devices");
  CHECK_STATUS(cudaMemcpyPeer(here, second_device, there, second_device, 1), cudaErrorInvalidValue,
               "memory of another device than named is refused");
  CHECK_STATUS(cudaMemcpyPeer(here, first_device, there, device_total, 1), cudaErrorInvalidDevice,
               "an absent device is refused");
  REQUIRE(cudaFree(there));
  REQUIRE(cudaSetDevice(first_device));
  REQUIRE(cudaFree(here));
}

struct Rectangle {
  std::size_t destination_pitch;
  std::size_t source_pitch;
  std::size_t width;
  std::size_t height;
};

std::size_t extent(std::size_t pitch, const Rectangle& shape) {
  return pitch * (shape.height - 1) + shape.width;
}

Bytes expected_copy(const Rectangle& shape, const Bytes& source) {
  Bytes destination(extent(shape.destination_pitch, shape), untouched);
  for (std::size_t row = 0; row < shape.height; ++row) {
    std::memcpy(destination.data() + row * shape.destination_pitch,
                source.data() + row * shape.source_pitch, shape.width);
  }
  return destination;
}

// Through device memory of exactly the extent: a row too far would be refused or fault.
bool copies_as_expected(const Rectangle& shape, cudaMemcpyKind kind) {
  Bytes host_source = pattern(extent(shape.source_pitch, shape), 4);
  Bytes host_destination(extent(shape.destination_pitch, shape), untouched);
  unsigned char* const device_source = allocate(host_source.size());
  unsigned char* const device_destination = allocate(host_destination.size());
  REQUIRE(cudaMemcpy(device_source, host_source.data(), host_source.size(),
                     cudaMemcpyHostToDevice));
  REQUIRE(cudaMemset(device_destination, untouched, host_destination.size()));
  const bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
  const bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
  REQUIRE(cudaMemcpy2D(to_host ? host_destination.data() : device_destination,
                       shape.destination_pitch, from_host ? host_source.data() : device_source,
                       shape.source_pitch, shape.width, shape.height, kind));
  if (!to_host) host_destination = download(device_destination, host_destination.size());
  REQUIRE(cudaFree(device_source));
  REQUIRE(cudaFree(device_destination));
  return host_destination == expected_copy(shape, host_source);
}

void check_rectangles() {
  const Rectangle shapes[] = {
      {1, 1, 1, 1},
      {7, 7, 7, 5},
      {8, 7, 7, 5},
      {7, 8, 7, 5},
      {512, 100, 99, 37},
      {1000, 1000, 1000, 997},
      {3, 5, 1, 100003},
      {piece + 3, piece + 1, piece + 1, 3},
      {5000011, 5000011, 5000011, 1},
  };
  struct Direction {
    cudaMemcpyKind kind;
    const char* name;
  };
  for (const Direction& direction :
       {Direction{cudaMemcpyHostToDevice, "host to device"},
        Direction{cudaMemcpyDeviceToHost, "device to host"},
        Direction{cudaMemcpyDeviceToDevice, "device to device"},
        Direction{cudaMemcpyHostToHost, "host to host"}}) {
    bool all = true;
    for (const Rectangle& shape : shapes) all = all && copies_as_expected(shape, direction.kind);
    CHECK(all, std::string("rows are copied from ") + direction.name);
  }
}

void check_pitch_refusals() {
  unsigned char* const device = allocate(1000);
  Bytes host(1000);
  CHECK_STATUS(cudaMemcpy2D(device, 9, host.data(), 10, 10, 2, cudaMemcpyHostToDevice),
               cudaErrorInvalidPitchValue, "a pitch below the width is refused");
  CHECK_STATUS(cudaMemcpy2D(device, 100, host.data(), 100, 100, 11, cudaMemcpyHostToDevice),
               cudaErrorInvalidValue, "a row behind the allocation is refused");
  CHECK_STATUS(cudaMemcpy2D(device, 101, host.data(), 100, 91, 10, cudaMemcpyHostToDevice),
               cudaSuccess, "the last row needs its width only");
  CHECK_STATUS(cudaMemcpy2D(device, 101, host.data(), 100, 92, 10, cudaMemcpyHostToDevice),
               cudaErrorInvalidValue, "a byte wider is refused");
  CHECK_STATUS(cudaMemcpy2D(device, 100, host.data(), 100, 0, 9, cudaMemcpyHostToDevice),
               cudaSuccess, "rows of no bytes are nothing");
  CHECK_STATUS(cudaMemcpy2D(device, 100, host.data(), 100, 9, 0, cudaMemcpyHostToDevice),
               cudaSuccess, "no rows are nothing");
  CHECK_STATUS(cudaMemcpy2D(device, 1 << 20, host.data(), 1 << 20, 1, SIZE_MAX >> 12,
                            cudaMemcpyHostToDevice),
               cudaErrorInvalidValue, "an extent beyond the address space is refused");
  CHECK_STATUS(cudaMemcpy2D(device, std::size_t{1} << 31, host.data(), 1, 1, 2,
                            cudaMemcpyHostToDevice),
               cudaErrorInvalidPitchValue, "a pitch beyond the device's is refused");
  REQUIRE(cudaFree(device));
}

template <typename Element>
bool fills(std::size_t offset, std::size_t count, std::size_t total, Element value,
           CUresult (*fill)(CUdeviceptr, Element, std::size_t, CUstream)) {
  unsigned char* const device = allocate(total * sizeof(Element));
  REQUIRE(cudaMemset(device, untouched, total * sizeof(Element)));
  const auto address = reinterpret_cast<CUdeviceptr>(device + offset * sizeof(Element));
  bool right = fill(address, value, count, nullptr) == CUDA_SUCCESS;
  const Bytes values = download(device, total * sizeof(Element));
  Element background;
  std::memset(&background, untouched, sizeof background);
  for (std::size_t index = 0; index < total; ++index) {
    Element element;
    std::memcpy(&element, values.data() + index * sizeof element, sizeof element);
    const bool inside = index >= offset && index < offset + count;
    right = right && element == (inside ? value : background);
  }
  REQUIRE(cudaFree(device));
  return right;
}

void check_element_fills() {
  CHECK(fills<unsigned short>(3, 1001, 1009, 0xa1b2, cuMemsetD16Async),
        "16-bit elements are filled, and no others");
  CHECK(fills<unsigned>(5, piece / 4 + 7, piece / 4 + 20, 0xa1b2c3d4u, cuMemsetD32Async),
        "32-bit elements are filled over several pieces");
  CHECK(fills<unsigned>(1, 10, 12, 0u, cuMemsetD32Async), "zeros are filled");
  unsigned char* const device = allocate(1000);
  const auto address = reinterpret_cast<CUdeviceptr>(device);
  CHECK(cuMemsetD16Async(address + 1, 0, 1, nullptr) == CUDA_ERROR_INVALID_VALUE,
        "a 16-bit fill must be aligned");
  CHECK(cuMemsetD32Async(address + 2, 0, 1, nullptr) == CUDA_ERROR_INVALID_VALUE,
        "a 32-bit fill must be aligned");
  CHECK(cuMemsetD32Async(address, 0, 251, nullptr) == CUDA_ERROR_INVALID_VALUE,
        "a fill beyond the allocation is refused");
  CHECK(cuMemsetD32Async(address, 0, SIZE_MAX / 2, nullptr) == CUDA_ERROR_INVALID_VALUE,
        "a fill beyond the address space is refused");
  REQUIRE(cudaFree(device));
}

}  // namespace

void check_linear_copies() {
  check_sizes();
  check_refusals();
  check_peers();
}

void check_pitched_copies() {
  check_rectangles();
  check_pitch_refusals();
}

void check_fills() {
  check_element_fills();
  unsigned char* const device = allocate(1000);
  REQUIRE(cudaMemset(device, 0x1ab, 1000));
  CHECK(download(device, 1000) == Bytes(1000, 0xab), "a fill takes the low byte of its value");
  CHECK_STATUS(cudaMemset(device, 0, 1001), cudaErrorInvalidValue,
               "a fill beyond the allocation is refused");
  CHECK_STATUS(cudaMemset(nullptr, 0, 0), cudaSuccess, "filling nothing succeeds");
  Bytes host(10);
  CHECK_STATUS(cudaMemset(host.data(), 0, 10), cudaErrorInvalidValue,
               "pageable host memory is not filled");
  REQUIRE(cudaFree(device));
}

}  // namespace runtime_test

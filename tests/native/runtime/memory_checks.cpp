// Device memory: capacity, placement, gaps, use after free; and registered host memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.h"
#include "suites.h"

namespace runtime_test {
namespace {

std::size_t free_memory() {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  REQUIRE(cudaMemGetInfo(&free_bytes, &total));
  return free_bytes;
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Queries the system: a write from an inaccessible address to a pipe fails without a signal.
bool is_accessible(std::uintptr_t address) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool accessible = write(ends[1], reinterpret_cast<const void*>(address), 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return accessible;
}

void check_arguments() {
  void* address = &address;
  CHECK_STATUS(cudaMalloc(&address, 0), cudaSuccess, "allocating nothing succeeds");
  CHECK(address == nullptr, "nothing has the null address");
  CHECK_STATUS(cudaMalloc(static_cast<void**>(nullptr), 1), cudaErrorInvalidValue,
               "an allocation needs a place for its address");
  CHECK_STATUS(cudaFree(nullptr), cudaSuccess, "freeing null succeeds");
}

void check_placement() {
  const std::size_t sizes[] = {1,     255,    256,      511,       512,         513,
                               4095,  4096,   4097,     65535,     65536,       65537,
                               99991, 1 << 20, (4 << 20) - 1, 4 << 20, (4 << 20) + 513};
  bool aligned = true;
  bool below_limit = true;
  bool accessible = true;
  bool fenced = true;
  for (const std::size_t bytes : sizes) {
    void* address = nullptr;
    REQUIRE(cudaMalloc(&address, bytes));
    const std::uintptr_t start = number(address);
    const std::uintptr_t charged_end = start + (bytes + 511) / 512 * 512;
    aligned = aligned && start % 512 == 0;
    below_limit = below_limit && charged_end < (std::uintptr_t{1} << 47);
    accessible = accessible && is_accessible(start) && is_accessible(start + bytes - 1);
    fenced = fenced && !is_accessible(charged_end) && !is_accessible(charged_end + 4096);
    REQUIRE(cudaFree(address));
    accessible = accessible && !is_accessible(start);
  }
  CHECK(aligned, "addresses are multiples of 512");
  CHECK(below_limit, "addresses have at most 47 bits");
  CHECK(accessible, "memory is accessible while it is allocated, and not afterwards");
  CHECK(fenced, "what follows an allocation is inaccessible");
}

// The gap is there for its own sake, not because nothing happens to follow.
void check_neighbours() {
  constexpr std::size_t count = 20;
  std::vector<unsigned char*> addresses(count);
  for (unsigned char*& address : addresses) REQUIRE(cudaMalloc(&address, 8192));
  bool fenced = true;
  for (unsigned char* address : addresses) {
    fenced = fenced && is_accessible(number(address) + 8191) &&
             !is_accessible(number(address) + 8192);
  }
  CHECK(fenced, "allocations made one after the other do not touch");
  for (unsigned char* address : addresses) REQUIRE(cudaFree(address));
}

void check_capacity() {
  constexpr std::size_t usable = small_capacity / 512 * 512;
  REQUIRE(cudaSetDevice(small_device));
  CHECK(free_memory() == small_capacity, "at first all memory is free");
  void* all = nullptr;
  CHECK_STATUS(cudaMalloc(&all, usable + 1), cudaErrorMemoryAllocation,
               "a size that is within the capacity, but not rounded up, is out of memory");
  CHECK_STATUS(cudaMalloc(&all, SIZE_MAX), cudaErrorMemoryAllocation,
               "the largest size is out of memory");
  CHECK_STATUS(cudaMalloc(&all, usable), cudaSuccess, "the whole capacity can be had");
  void* more = nullptr;
  CHECK_STATUS(cudaMalloc(&more, 1), cudaErrorMemoryAllocation, "then not a byte is left");
  REQUIRE(cudaFree(all));
  REQUIRE(cudaMalloc(&more, 513));
  CHECK(free_memory() == small_capacity - 1024, "513 bytes are charged as 1024");
  CHECK_STATUS(cudaMalloc(&all, usable - 1024 + 1), cudaErrorMemoryAllocation,
               "the rest and one byte do not fit");
  CHECK_STATUS(cudaMalloc(&all, usable - 1024), cudaSuccess, "the rest fits");
  REQUIRE(cudaFree(all));
  REQUIRE(cudaFree(more));
  CHECK(free_memory() == small_capacity, "in the end all memory is free again");
  REQUIRE(cudaSetDevice(first_device));
}

void check_wrong_frees() {
  unsigned char* address = nullptr;
  REQUIRE(cudaMalloc(&address, 10000));
  const std::size_t before = free_memory();
  CHECK_STATUS(cudaFree(address + 1), cudaErrorInvalidValue, "an inner address cannot be freed");
  CHECK_STATUS(cudaFree(address + (1 << 20)), cudaErrorInvalidValue,
               "an unallocated device address cannot be freed");
  int local = 0;
  CHECK_STATUS(cudaFree(&local), cudaErrorInvalidValue, "host memory cannot be freed");
  CHECK_STATUS(cudaFree(reinterpret_cast<void*>(0xdead0000)), cudaErrorInvalidValue,
               "a wild address cannot be freed");
  CHECK(free_memory() == before, "what fails frees nothing");
  REQUIRE(cudaSetDevice(second_device));
  CHECK_STATUS(cudaFree(address), cudaSuccess, "memory of another device can be freed");
  CHECK_STATUS(cudaFree(address), cudaErrorInvalidValue, "memory cannot be freed twice");
  REQUIRE(cudaSetDevice(first_device));
}

void check_late_reuse() {
  void* first = nullptr;
  REQUIRE(cudaMalloc(&first, 1 << 20));
  REQUIRE(cudaFree(first));
  bool reused = false;
  for (int round = 0; round < 200; ++round) {
    void* next = nullptr;
    REQUIRE(cudaMalloc(&next, 1 << 20));
    reused = reused || next == first;
    REQUIRE(cudaFree(next));
  }
  CHECK(!reused, "a freed address is not handed out again soon");
}

// More than the system would allow mappings for: most share slabs.
void check_many_small() {
  constexpr int count = 40000;
  std::vector<unsigned char*> addresses(count);
  const std::size_t before = free_memory();
  bool allocated = true;
  for (int index = 0; index < count; ++index) {
    const std::size_t bytes = 1 + static_cast<std::size_t>(index) * 37 % 3000;
    allocated = allocated && cudaMalloc(&addresses[static_cast<std::size_t>(index)], bytes) ==
                                 cudaSuccess;
  }
  CHECK(allocated, "40000 small allocations succeed");
  std::vector<unsigned char*> sorted = addresses;
  std::sort(sorted.begin(), sorted.end());
  bool apart = true;
  for (std::size_t index = 1; index < sorted.size(); ++index) {
    apart = apart && sorted[index] - sorted[index - 1] >= 512;
  }
  CHECK(apart, "no two of them overlap");
  // Every third first: slabs become partly free and are used again.
  for (std::size_t index = 0; index < addresses.size(); index += 3) {
    REQUIRE(cudaFree(addresses[index]));
  }
  for (std::size_t index = 0; index < addresses.size(); index += 3) {
    REQUIRE(cudaMalloc(&addresses[index], 700));
  }
  bool freed = true;
  for (unsigned char* address : addresses) freed = freed && cudaFree(address) == cudaSuccess;
  CHECK(freed, "each of them can be freed");
  CHECK(free_memory() == before, "and all of their memory is free again");
}

void check_many_large() {
  constexpr std::size_t count = 10000;
  std::vector<void*> addresses(count);
  bool allocated = true;
  for (void*& address : addresses) {
    allocated = allocated && cudaMalloc(&address, 70000) == cudaSuccess;
  }
  CHECK(allocated, "10000 allocations of 70000 bytes succeed");
  bool freed = true;
  for (void* address : addresses) freed = freed && cudaFree(address) == cudaSuccess;
  CHECK(freed, "and can be freed");
}

void check_huge_devices() {
  std::vector<unsigned char*> halves;
  bool allocated = true;
  for (int device = huge_device; device <= last_huge_device; ++device) {
    REQUIRE(cudaSetDevice(device));
    for (int half = 0; half < 2; ++half) {
      unsigned char* address = nullptr;
      allocated = allocated && cudaMalloc(&address, huge_capacity / 2) == cudaSuccess;
      halves.push_back(address);
    }
    void* more = nullptr;
    allocated = allocated && cudaMalloc(&more, 1) == cudaErrorMemoryAllocation;
  }
  CHECK(allocated, "four devices of 80 GiB can be filled on a smaller machine");
  unsigned char first = 1;
  unsigned char last = 2;
  unsigned char* const far_end = halves.back() + huge_capacity / 2 - 1;
  REQUIRE(cudaMemcpy(far_end, &first, 1, cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(&last, far_end, 1, cudaMemcpyDeviceToHost));
  CHECK(last == 1, "their last byte can be written and read");
  for (unsigned char* address : halves) REQUIRE(cudaFree(address));
  REQUIRE(cudaSetDevice(first_device));
}

void check_pointer_attributes() {
  unsigned char* address = nullptr;
  REQUIRE(cudaSetDevice(second_device));
  REQUIRE(cudaMalloc(&address, 1000));
  REQUIRE(cudaSetDevice(first_device));
  cudaPointerAttributes attributes;
  REQUIRE(cudaPointerGetAttributes(&attributes, address + 999));
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == second_device &&
            attributes.devicePointer == address + 999 && attributes.hostPointer == nullptr,
        "the last byte of an allocation is memory of its device");
  REQUIRE(cudaPointerGetAttributes(&attributes, address + 1000));
  CHECK(attributes.type == cudaMemoryTypeUnregistered, "the byte behind it is unregistered");
  REQUIRE(cudaFree(address));
  REQUIRE(cudaPointerGetAttributes(&attributes, address));
  CHECK(attributes.type == cudaMemoryTypeUnregistered, "freed memory is unregistered");
  int local = 0;
  REQUIRE(cudaPointerGetAttributes(&attributes, &local));
  CHECK(attributes.type == cudaMemoryTypeUnregistered && attributes.device == -2,
        "host memory is unregistered");
  CHECK_STATUS(cudaPointerGetAttributes(nullptr, address), cudaErrorInvalidValue,
               "attributes need a place");
}

}  // namespace

void check_device_memory() {
  check_arguments();
  check_placement();
  check_neighbours();
  check_capacity();
  check_wrong_frees();
  check_late_reuse();
  check_many_small();
  check_many_large();
  check_huge_devices();
  check_pointer_attributes();
}

void check_registered_memory() {
  std::vector<unsigned char> memory(3 * 4096);
  unsigned char* const start = memory.data();
  CHECK_STATUS(cudaHostRegister(start, 8192, cudaHostRegisterPortable), cudaSuccess,
               "host memory can be registered");
  CHECK_STATUS(cudaHostRegister(start, 8192, 0), cudaErrorHostMemoryAlreadyRegistered,
               "but not twice");
  CHECK_STATUS(cudaHostRegister(start + 8191, 4096, 0), cudaErrorHostMemoryAlreadyRegistered,
               "nor where one byte is registered");
  CHECK_STATUS(cudaHostRegister(start + 8192, 4096, 0), cudaSuccess, "the next byte is free");
  CHECK_STATUS(cudaHostRegister(nullptr, 4096, 0), cudaErrorInvalidValue, "null is no memory");
  CHECK_STATUS(cudaHostRegister(start, 0, 0), cudaErrorInvalidValue, "nothing is no memory");
  CHECK_STATUS(cudaHostRegister(start, 1, 0x100), cudaErrorInvalidValue, "flags are checked");
  CHECK_STATUS(cudaHostRegister(start, SIZE_MAX, 0), cudaErrorInvalidValue,
               "a range must not wrap around");
  void* const hole = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(hole, 8192);
  CHECK_STATUS(cudaHostRegister(hole, 8192, 0), cudaErrorInvalidValue,
               "unmapped pages cannot be registered");
  cudaPointerAttributes attributes;
  REQUIRE(cudaPointerGetAttributes(&attributes, start + 8191));
  CHECK(attributes.type == cudaMemoryTypeHost && attributes.device == first_device,
        "registered memory is host memory");
  CHECK_STATUS(cudaHostUnregister(start + 1), cudaErrorHostMemoryNotRegistered,
               "only the start of a range names it");
  CHECK_STATUS(cudaHostUnregister(start), cudaSuccess, "memory can be unregistered");
  CHECK_STATUS(cudaHostUnregister(start), cudaErrorHostMemoryNotRegistered, "but not twice");
  CHECK_STATUS(cudaHostUnregister(start + 8192), cudaSuccess, "each range on its own");
  CHECK_STATUS(cudaHostUnregister(nullptr), cudaErrorInvalidValue, "null is no range");
}

}  // namespace runtime_test

// Virtual memory in large numbers, by several threads, and without memory files.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "host/memory/virtual_mappings.h"
#include "suites.h"
#include "virtual_range.h"

namespace runtime_test {
namespace {

using gridstride::host::PhysicalMemory;

// Entries of the system's map of the process, of which it allows 65530.
std::size_t system_mappings() {
  std::ifstream file("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

// The pool's way: memory is created for each piece, and access given to each mapping.
bool map_pieces(CUdeviceptr address, std::size_t count, std::size_t step, int device) {
  bool mapped = true;
  for (std::size_t index = 0; index < count && mapped; index += step) {
    const CUdeviceptr at = address + index * piece;
    mapped = map_new_memory(at, piece, device) == CUDA_SUCCESS &&
             set_access(at, piece, device) == CUDA_SUCCESS;
  }
  return mapped;
}

void check_many_pieces() {
  constexpr std::size_t count = huge_capacity / piece;
  const CUdeviceptr address = reserve_addresses(2 * huge_capacity);
  const std::size_t before = system_mappings();
  CHECK(map_pieces(address, count, 1, huge_device), "80 GiB can be mapped in pieces of 2 MiB");
  CHECK(free_memory_of(huge_device) == 0, "which is all there is");
  CHECK(map_new_memory(address + huge_capacity, piece, huge_device) == CUDA_ERROR_OUT_OF_MEMORY,
        "so that no more can be had");
  CHECK(system_mappings() < before + 10, "they are one entry of the system's map");
  bytes_at(address)[huge_capacity - 1] = 3;
  CHECK(bytes_at(address)[huge_capacity - 1] == 3 && bytes_at(address)[0] == 0,
        "the first and the last byte are there");
  bool unmapped = true;
  for (std::size_t index = 0; index < 8000; index += 2) {
    unmapped = unmapped && cuMemUnmap(address + index * piece, piece) == CUDA_SUCCESS;
  }
  CHECK(unmapped, "every other piece can be unmapped");
  CHECK(map_pieces(address, 8000, 2, huge_device), "and mapped again");
  CHECK(system_mappings() < before + 10, "which closes the gaps in the system's map as well");
  CHECK_RESULT(cuMemUnmap(address, huge_capacity), CUDA_SUCCESS,
               "40960 mappings can be unmapped at a time");
  CHECK(free_memory_of(huge_device) == huge_capacity, "and all memory is free");
  REQUIRE_RESULT(cuMemAddressFree(address, 2 * huge_capacity));
}

// Pieces with holes between them take two entries each: there is an end to them, in good order.
void check_scattered_pieces() {
  constexpr std::size_t count = huge_capacity / piece;
  const CUdeviceptr address = reserve_addresses(2 * huge_capacity);
  std::size_t mapped = 0;
  CUresult status = CUDA_SUCCESS;
  while (mapped < count && status == CUDA_SUCCESS) {
    status = map_new_memory(address + 2 * mapped * piece, piece, huge_device);
    if (status == CUDA_SUCCESS) {
      status = set_access(address + 2 * mapped * piece, piece, huge_device);
      ++mapped;
    }
  }
  CHECK_RESULT(status, CUDA_ERROR_OUT_OF_MEMORY, "scattered pieces run out");
  CHECK(mapped >= 16000, "after 16000 at least");
  CHECK(system_mappings() < 60000, "and leave the process room in the system's map");
  CHECK(free_memory_of(huge_device) == huge_capacity - mapped * piece,
        "what could not be mapped is not charged");
  CHECK_RESULT(map_new_memory(address + piece, piece, huge_device), CUDA_SUCCESS,
               "a piece that joins two of them can still be had");
  REQUIRE_RESULT(cuMemUnmap(address + piece, piece));
  bool unmapped = true;
  for (std::size_t index = 0; index < mapped; ++index) {
    unmapped = unmapped && cuMemUnmap(address + 2 * index * piece, piece) == CUDA_SUCCESS;
  }
  CHECK(unmapped && free_memory_of(huge_device) == huge_capacity, "and all can be given back");
  REQUIRE_RESULT(cuMemAddressFree(address, 2 * huge_capacity));
}

void check_memory_goes_back() {
  const std::int64_t before = PhysicalMemory::live();
  for (int round = 0; round < 40; ++round) {
    VirtualRange range(first_device, 8);
    REQUIRE(cudaMemset(range.data(), 1, range.bytes()));
    REQUIRE(cudaDeviceSynchronize());
  }
  CHECK(PhysicalMemory::live() == before, "nothing is left of memory that came and went");
  std::ifstream file("/proc/self/status");
  std::size_t shared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("RssShmem:", 0) == 0) shared = std::stoul(line.substr(9));
  }
  CHECK(shared < 64 * 1024, "and its pages are the system's again");
}

// ---- threads -----------------------------------------------------------------------------------

// A range of the thread's own in which pieces come and go, each with contents to be checked.
class PieceLife {
 public:
  PieceLife(int thread, int device) : random_(static_cast<unsigned>(thread)), device_(device) {
    REQUIRE(cudaSetDevice(device));
    REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    address_ = reserve_addresses(pieces * piece);
  }
  ~PieceLife() {
    for (std::size_t index = 0; index < pieces; ++index) {
      if (values_[index] != 0) unmap(index);
    }
    REQUIRE_RESULT(cuMemAddressFree(address_, pieces * piece));
    REQUIRE(cudaStreamDestroy(stream_));
  }

  bool run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      const std::size_t index = random_() % pieces;
      if (values_[index] == 0 ? !map(index) : !matches(index)) return false;
      if (random_() % 3 == 0) unmap(index);
    }
    return true;
  }

 private:
  static constexpr std::size_t pieces = 6;
  static constexpr std::size_t filled = 4096;

  unsigned char* at(std::size_t index) const { return bytes_at(address_ + index * piece); }

  bool map(std::size_t index) {
    const CUdeviceptr address = address_ + index * piece;
    values_[index] = static_cast<unsigned char>(1 + random_() % 255);
    return map_new_memory(address, piece, device_) == CUDA_SUCCESS &&
           set_access(address, piece, device_) == CUDA_SUCCESS &&
           cudaMemsetAsync(at(index), values_[index], filled, stream_) == cudaSuccess;
  }

  bool matches(std::size_t index) {
    std::array<unsigned char, filled> result{};
    std::array<unsigned char, filled> expected{};
    expected.fill(values_[index]);
    return cudaMemcpyAsync(result.data(), at(index), filled, cudaMemcpyDeviceToHost, stream_) ==
               cudaSuccess &&
           cudaStreamSynchronize(stream_) == cudaSuccess && result == expected;
  }

  void unmap(std::size_t index) {
    REQUIRE(cudaStreamSynchronize(stream_));
    REQUIRE_RESULT(cuMemUnmap(address_ + index * piece, piece));
    values_[index] = 0;
  }

  std::mt19937 random_;
  const int device_;
  cudaStream_t stream_ = nullptr;
  CUdeviceptr address_ = 0;
  std::array<unsigned char, pieces> values_{};  // 0 where nothing is mapped
};

// Large copies of memory that stays, while other threads change mappings.
bool copy_meanwhile(const std::atomic<bool>& is_over) {
  REQUIRE(cudaSetDevice(first_device));
  const VirtualRange range(first_device, 6);
  const std::vector<unsigned char> pattern(range.bytes(), 77);
  std::vector<unsigned char> result(range.bytes());
  bool right = true;
  do {
    right = cudaMemcpy(range.data(), pattern.data(), range.bytes(), cudaMemcpyHostToDevice) ==
                cudaSuccess &&
            cudaMemcpy(result.data(), range.data(), range.bytes(), cudaMemcpyDeviceToHost) ==
                cudaSuccess &&
            result == pattern;
    std::fill(result.begin(), result.end(), static_cast<unsigned char>(0));
  } while (right && !is_over.load());
  return right;
}

}  // namespace

void check_virtual_capacity() {
  REQUIRE(cudaSetDevice(first_device));
  check_many_pieces();
  check_scattered_pieces();
  check_memory_goes_back();
}

void check_virtual_threads() {
  constexpr int thread_count = 4;
  std::array<std::atomic<bool>, thread_count> right{};
  std::atomic<bool> is_over{false};
  std::atomic<bool> copies_right{false};
  std::thread copies([&] { copies_right = copy_meanwhile(is_over); });
  std::vector<std::thread> threads;
  for (int index = 0; index < thread_count; ++index) {
    threads.emplace_back([&right, index] {
      right[static_cast<std::size_t>(index)] = PieceLife(index, index % 2).run(600);
    });
  }
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  copies.join();
  bool all = true;
  for (const auto& one : right) all = all && one;
  CHECK(all, "4 threads map, fill, copy and unmap without disturbing one another");
  CHECK(copies_right, "nor do they disturb copies of other memory");
  CHECK(free_memory_of(first_device) == ordinary_capacity, "and leave nothing behind");
}

int check_without_memory_files() {
  // A memory file has the size of all addresses.
  const rlimit limit = {std::size_t{1} << 30, std::size_t{1} << 30};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
  const CUdeviceptr address = reserve_addresses(4 * piece);
  const CUmemGenericAllocationHandle handle = create_memory(first_device, 2 * piece);
  REQUIRE_RESULT(cuMemMap(address, 2 * piece, 0, handle, 0));
  if (cuMemMap(address + 2 * piece, 2 * piece, 0, handle, 0) != CUDA_ERROR_NOT_SUPPORTED) return 4;
  REQUIRE_RESULT(set_access(address, 2 * piece, first_device));
  REQUIRE(cudaMemset(bytes_at(address), 5, 2 * piece));
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE_RESULT(set_access(address, 2 * piece, first_device, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  if (can_read(address)) return 5;
  REQUIRE_RESULT(set_access(address, 2 * piece, first_device));
  if (bytes_at(address)[2 * piece - 1] != 5) return 6;
  REQUIRE_RESULT(cuMemUnmap(address, 2 * piece));
  REQUIRE_RESULT(cuMemRelease(handle));
  REQUIRE_RESULT(map_new_memory(address, piece, first_device));
  REQUIRE_RESULT(set_access(address, piece, first_device));
  if (bytes_at(address)[0] != 0) return 7;
  REQUIRE_RESULT(cuMemUnmap(address, piece));
  REQUIRE_RESULT(cuMemAddressFree(address, 4 * piece));
  if (free_memory_of(first_device) != ordinary_capacity || failure_count() != 0) return 8;
  std::printf("mapped\n");
  return 0;
}

}  // namespace runtime_test

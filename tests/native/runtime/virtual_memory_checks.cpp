// Addresses, memory and mappings: arguments of each function, and charges.
#include <algorithm>
#include <string>

#include "check.h"
#include "suites.h"
#include "virtual_range.h"
#include "visible_child.h"

namespace runtime_test {
namespace {

// ---- addresses ---------------------------------------------------------------------------------

void check_reservation_arguments() {
  CUdeviceptr address = 12345;
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  CHECK_RESULT(cuMemAddressReserve(nullptr, piece, 0, 0, 0), invalid, "addresses need a place");
  CHECK_RESULT(cuMemAddressReserve(&address, 0, 0, 0, 0), invalid, "no addresses cannot be had");
  CHECK_RESULT(cuMemAddressReserve(&address, piece + 1, 0, 0, 0), invalid,
               "nor a size that is no multiple of the page");
  CHECK_RESULT(cuMemAddressReserve(&address, piece, 3, 0, 0), invalid,
               "nor an alignment that is no power of two");
  CHECK_RESULT(cuMemAddressReserve(&address, piece, 0, 1, 0), invalid,
               "nor a hint that is no multiple of the page");
  CHECK_RESULT(cuMemAddressReserve(&address, piece, 0, 0, 1), invalid, "there are no flags");
  CHECK_RESULT(cuMemAddressReserve(&address, SIZE_MAX / piece * piece, 0, 0, 0),
               CUDA_ERROR_OUT_OF_MEMORY, "all addresses are too many");
  CHECK_RESULT(cuMemAddressReserve(&address, piece, std::size_t{1} << 63, 0, 0),
               CUDA_ERROR_OUT_OF_MEMORY, "no address is a multiple of 2^63");
  CHECK(address == 12345, "what fails stores nothing");
}

void check_placement() {
  const std::size_t alignments[] = {0, 1, 4096, piece, 4 * piece, gibibyte, 64 * gibibyte};
  bool aligned = true;
  bool below_limit = true;
  for (const std::size_t alignment : alignments) {
    CUdeviceptr address = 0;
    REQUIRE_RESULT(cuMemAddressReserve(&address, 3 * piece, alignment, 0, 0));
    aligned = aligned && address % std::max(alignment, piece) == 0;
    below_limit = below_limit && address + 3 * piece <= CUdeviceptr{1} << 47;
    REQUIRE_RESULT(cuMemAddressFree(address, 3 * piece));
  }
  CHECK(aligned, "addresses are multiples of their alignment, and of 2 MiB at least");
  CHECK(below_limit, "and have at most 47 bits");
  const CUdeviceptr small = reserve_addresses(4096);
  const CUdeviceptr next = reserve_addresses(piece);
  CHECK(!can_read(small) && !can_read(next), "nothing is behind addresses");
  CHECK(next >= small + 2 * piece, "a range and its neighbour do not touch");
  CHECK_RESULT(cuMemAddressFree(small, 8192), CUDA_ERROR_INVALID_VALUE,
               "addresses are given back by the size they were asked for with");
  CHECK_RESULT(cuMemAddressFree(small + 4096, 4096), CUDA_ERROR_INVALID_VALUE,
               "and by their first one");
  CHECK_RESULT(cuMemAddressFree(small, 4096), CUDA_SUCCESS, "so that they are");
  CHECK_RESULT(cuMemAddressFree(small, 4096), CUDA_ERROR_INVALID_VALUE, "once");
  CHECK_RESULT(cuMemAddressFree(0, 4096), CUDA_ERROR_INVALID_VALUE, "null is no range");
  REQUIRE_RESULT(cuMemAddressFree(next, piece));
}

void check_hints() {
  const CUdeviceptr first = reserve_addresses(piece);
  CUdeviceptr second = 0;
  REQUIRE_RESULT(cuMemAddressReserve(&second, piece, 0, first + piece, 0));
  CHECK(second == first + piece, "a hint that is free is taken: a range can be continued");
  CUdeviceptr third = 0;
  REQUIRE_RESULT(cuMemAddressReserve(&third, piece, 0, first, 0));
  CHECK(third != first && third != second, "one that is not free is not");
  CUdeviceptr fourth = 0;
  const CUdeviceptr wild = 0xfffffffffffff000;
  CHECK_RESULT(cuMemAddressReserve(&fourth, piece, 0, wild, 0), CUDA_SUCCESS,
               "nor one that is no address");
  for (const CUdeviceptr address : {first, second, third, fourth}) {
    REQUIRE_RESULT(cuMemAddressFree(address, piece));
  }
}

void check_late_reuse() {
  const CUdeviceptr first = reserve_addresses(piece);
  REQUIRE_RESULT(cuMemAddressFree(first, piece));
  bool reused = false;
  for (int round = 0; round < 1000; ++round) {
    const CUdeviceptr next = reserve_addresses(piece);
    reused = reused || next == first;
    REQUIRE_RESULT(cuMemAddressFree(next, piece));
  }
  CHECK(!reused, "addresses that were given back are not handed out again soon");
}

void check_huge_reservations() {
  constexpr std::size_t bytes = 8 * huge_capacity;
  CUdeviceptr addresses[8] = {};
  bool reserved = true;
  for (CUdeviceptr& address : addresses) {
    reserved = reserved && cuMemAddressReserve(&address, bytes, 0, 0, 0) == CUDA_SUCCESS;
  }
  CHECK(reserved, "5 TiB of addresses can be had");
  std::sort(std::begin(addresses), std::end(addresses));
  bool apart = true;
  for (std::size_t index = 1; index < 8; ++index) {
    apart = apart && addresses[index] - addresses[index - 1] >= bytes;
  }
  CHECK(apart, "in ranges that do not overlap");
  for (const CUdeviceptr address : addresses) REQUIRE_RESULT(cuMemAddressFree(address, bytes));
}

// ---- memory ------------------------------------------------------------------------------------

void check_properties() {
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  const auto unsupported = CUDA_ERROR_NOT_SUPPORTED;
  struct Change {
    void (*apply)(CUmemAllocationProp& properties);
    CUresult expected;
    const char* statement;
  };
  using Properties = CUmemAllocationProp;
  const Change changes[] = {
      {[](Properties& p) { p.type = CU_MEM_ALLOCATION_TYPE_INVALID; }, invalid, "no type"},
      {[](Properties& p) { p.type = static_cast<CUmemAllocationType>(7); }, invalid, "type 7"},
      {[](Properties& p) { p.type = CU_MEM_ALLOCATION_TYPE_MANAGED; }, unsupported, "managed"},
      {[](Properties& p) { p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; },
       unsupported, "export"},
      {[](Properties& p) { p.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(64); },
       invalid, "handle type 64"},
      {[](Properties& p) { p.location.type = CU_MEM_LOCATION_TYPE_INVALID; }, invalid,
       "no location"},
      {[](Properties& p) { p.location.type = CU_MEM_LOCATION_TYPE_HOST; }, unsupported, "the host"},
      {[](Properties& p) { p.location.type = static_cast<CUmemLocationType>(9); }, invalid,
       "location type 9"},
      {[](Properties& p) { p.location.id = device_total; }, CUDA_ERROR_INVALID_DEVICE,
       "a device that is not there"},
      {[](Properties& p) { p.location.id = -1; }, CUDA_ERROR_INVALID_DEVICE, "device -1"},
      {[](Properties& p) { p.location.id = plain_device; }, unsupported,
       "a device without virtual memory management"},
      {[](Properties& p) { p.win32HandleMetaData = &p; }, invalid, "Windows' attributes"},
      {[](Properties& p) { p.allocFlags.compressionType = 2; }, invalid, "compression 2"},
      {[](Properties& p) { p.allocFlags.gpuDirectRDMACapable = 1; }, unsupported, "RDMA"},
      {[](Properties& p) { p.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL; }, unsupported,
       "tiles"},
      {[](Properties& p) { p.allocFlags.usage = 0x8000; }, invalid, "usage 0x8000"},
      {[](Properties& p) { p.allocFlags.reserved[3] = 1; }, invalid, "a reserved byte"},
      {[](Properties& p) { p.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC; },
       CUDA_SUCCESS, "compression, a hint"},
  };
  for (const Change& change : changes) {
    CUmemAllocationProp properties = memory_of(first_device);
    change.apply(properties);
    CUmemGenericAllocationHandle handle = 0;
    CHECK_RESULT(cuMemCreate(&handle, piece, &properties, 0), change.expected,
                 std::string("memory with ") + change.statement);
    std::size_t granularity = 0;
    CHECK_RESULT(
        cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        change.expected, std::string("the granularity with ") + change.statement);
    if (handle != 0) REQUIRE_RESULT(cuMemRelease(handle));
  }
}

void check_granularity() {
  const CUmemAllocationProp properties = memory_of(first_device);
  std::size_t least = 0;
  std::size_t best = 0;
  REQUIRE_RESULT(
      cuMemGetAllocationGranularity(&least, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  REQUIRE_RESULT(
      cuMemGetAllocationGranularity(&best, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  CHECK(least == piece && best == piece, "the granularity is 2 MiB");
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  CHECK_RESULT(
      cuMemGetAllocationGranularity(nullptr, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      invalid, "it needs a place");
  CHECK_RESULT(cuMemGetAllocationGranularity(&least, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
               invalid, "and properties");
  CHECK_RESULT(cuMemGetAllocationGranularity(&least, &properties,
                                             static_cast<CUmemAllocationGranularity_flags>(2)),
               invalid, "and is one of two");
  int supported = -1;
  const auto attribute = static_cast<cudaDeviceAttr>(102);
  REQUIRE(cudaDeviceGetAttribute(&supported, attribute, first_device));
  CHECK(supported == 1, "attribute 102 says that there is virtual memory management");
}

void check_creation() {
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  const CUmemAllocationProp properties = memory_of(small_device);
  CUmemGenericAllocationHandle handle = 0;
  CHECK_RESULT(cuMemCreate(nullptr, piece, &properties, 0), invalid, "memory needs a handle");
  CHECK_RESULT(cuMemCreate(&handle, piece, nullptr, 0), invalid, "and properties");
  CHECK_RESULT(cuMemCreate(&handle, piece, &properties, 1), invalid, "and has no flags");
  CHECK_RESULT(cuMemCreate(&handle, 0, &properties, 0), invalid, "no memory cannot be had");
  CHECK_RESULT(cuMemCreate(&handle, piece + 4096, &properties, 0), invalid,
               "nor a size that is no multiple of 2 MiB");
  CHECK_RESULT(cuMemCreate(&handle, SIZE_MAX / piece * piece, &properties, 0),
               CUDA_ERROR_OUT_OF_MEMORY, "nor more than there is");
  CHECK(handle == 0 && free_memory_of(small_device) == small_capacity, "what fails takes nothing");
}

void check_charges() {
  const CUmemAllocationProp properties = memory_of(small_device);
  const CUmemGenericAllocationHandle three = create_memory(small_device, 3 * piece);
  CHECK(free_memory_of(small_device) == small_capacity - 3 * piece, "memory is charged at once");
  CUmemGenericAllocationHandle more = 0;
  CHECK_RESULT(cuMemCreate(&more, 2 * piece, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY,
               "what is charged is not there for others");
  REQUIRE(cudaSetDevice(small_device));
  void* allocation = nullptr;
  CHECK_STATUS(cudaMalloc(&allocation, 2 * piece), cudaErrorMemoryAllocation,
               "cudaMalloc has the same memory");
  REQUIRE(cudaMalloc(&allocation, piece));
  CHECK_RESULT(cuMemCreate(&more, piece, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY,
               "and takes it from cuMemCreate");
  REQUIRE(cudaFree(allocation));
  REQUIRE(cudaSetDevice(first_device));
  CHECK_RESULT(cuMemRelease(three), CUDA_SUCCESS, "memory can be released");
  CHECK_RESULT(cuMemRelease(three), CUDA_ERROR_INVALID_VALUE, "but not twice");
  CHECK_RESULT(cuMemRelease(0), CUDA_ERROR_INVALID_VALUE, "0 is no memory");
  CHECK_RESULT(cuMemRelease(three + 1), CUDA_ERROR_INVALID_VALUE, "nor is an invented handle");
  CHECK(free_memory_of(small_device) == small_capacity, "then all memory is free");
}

void check_charges_of_mappings() {
  const CUdeviceptr address = reserve_addresses(4 * piece);
  const CUmemGenericAllocationHandle handle = create_memory(small_device, 2 * piece);
  REQUIRE_RESULT(cuMemMap(address, 2 * piece, 0, handle, 0));
  REQUIRE_RESULT(cuMemMap(address + 2 * piece, 2 * piece, 0, handle, 0));
  CHECK(free_memory_of(small_device) == small_capacity - 2 * piece,
        "memory that is mapped twice is charged once");
  REQUIRE_RESULT(cuMemRelease(handle));
  REQUIRE_RESULT(cuMemUnmap(address, 2 * piece));
  CHECK(free_memory_of(small_device) == small_capacity - 2 * piece,
        "released memory is kept by its last mapping");
  CHECK_RESULT(cuMemMap(address, 2 * piece, 0, handle, 0), CUDA_ERROR_INVALID_VALUE,
               "a released handle names nothing");
  REQUIRE_RESULT(cuMemUnmap(address + 2 * piece, 2 * piece));
  CHECK(free_memory_of(small_device) == small_capacity, "with both gone it is free");
  REQUIRE_RESULT(cuMemAddressFree(address, 4 * piece));
}

// ---- mappings ----------------------------------------------------------------------------------

void check_mapping_arguments() {
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr address = reserve_addresses(4 * piece);
  const CUmemGenericAllocationHandle handle = create_memory(first_device, 2 * piece);
  CHECK_RESULT(cuMemMap(address, 2 * piece, 0, 0, 0), invalid, "0 cannot be mapped");
  CHECK_RESULT(cuMemMap(address, 2 * piece, 0, handle + 1, 0), invalid, "nor an invented handle");
  CHECK_RESULT(cuMemMap(address, 2 * piece, 0, handle, 1), invalid, "there are no flags");
  CHECK_RESULT(cuMemMap(address, piece, piece, handle, 0), invalid, "the offset must be 0");
  CHECK_RESULT(cuMemMap(address, 0, 0, handle, 0), invalid, "nothing cannot be mapped");
  CHECK_RESULT(cuMemMap(address, piece / 2, 0, handle, 0), invalid, "nor half a piece");
  CHECK_RESULT(cuMemMap(address + 4096, piece, 0, handle, 0), invalid, "nor between pieces");
  CHECK_RESULT(cuMemMap(address, 3 * piece, 0, handle, 0), invalid, "nor more than there is");
  CHECK_RESULT(cuMemMap(address + 3 * piece, 2 * piece, 0, handle, 0), invalid,
               "nor beyond the reservation");
  CHECK_RESULT(cuMemMap(0, piece, 0, handle, 0), invalid, "nor at null");
  CHECK_RESULT(cuMemMap(CUdeviceptr{0} - piece, piece, 0, handle, 0), invalid,
               "nor at the end of all addresses");
  CHECK_RESULT(cuMemMap(address, piece, 0, handle, 0), CUDA_SUCCESS,
               "a part of memory can be mapped");
  CHECK_RESULT(cuMemMap(address, piece, 0, handle, 0), invalid, "but not where something is");
  CHECK_RESULT(cuMemMap(address + piece, 2 * piece, 0, handle, 0), CUDA_SUCCESS, "beside it");
  CHECK_RESULT(cuMemMap(address + 2 * piece, 2 * piece, 0, handle, 0), invalid,
               "and not over its end");
  CHECK_RESULT(cuMemAddressFree(address, 4 * piece), invalid,
               "addresses with mappings cannot be given back");
  REQUIRE_RESULT(cuMemUnmap(address, 3 * piece));
  REQUIRE_RESULT(cuMemRelease(handle));
  REQUIRE_RESULT(cuMemAddressFree(address, 4 * piece));
}

void check_whole_mappings() {
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr address = reserve_addresses(8 * piece);
  const std::size_t sizes[] = {2 * piece, piece, 3 * piece};
  CUdeviceptr at = address;
  for (const std::size_t bytes : sizes) {
    REQUIRE_RESULT(map_new_memory(at, bytes, first_device));
    at += bytes;
  }
  CHECK_RESULT(cuMemUnmap(address, 0), invalid, "nothing cannot be unmapped");
  CHECK_RESULT(cuMemUnmap(address, piece), invalid, "nor the first part of a mapping");
  CHECK_RESULT(cuMemUnmap(address + piece, piece), invalid, "nor the last");
  CHECK_RESULT(cuMemUnmap(address, 4 * piece), invalid, "nor one and a part of the next");
  CHECK_RESULT(cuMemUnmap(address, 7 * piece), invalid, "nor what goes beyond");
  CHECK_RESULT(cuMemUnmap(address + 6 * piece, piece), invalid, "nor where nothing is");
  CHECK_RESULT(cuMemUnmap(address, SIZE_MAX / piece * piece), invalid, "nor everything");
  CHECK_RESULT(cuMemUnmap(0, piece), invalid, "nor null");
  const CUmemAccessDesc description = access_for(first_device);
  CHECK_RESULT(cuMemSetAccess(address, piece, &description, 1), invalid,
               "access is for whole mappings as well");
  CHECK_RESULT(cuMemSetAccess(address, 7 * piece, &description, 1), invalid,
               "of which there is none left out");
  CHECK_RESULT(cuMemUnmap(address + 2 * piece, 4 * piece), CUDA_SUCCESS,
               "several whole mappings can be unmapped at a time");
  CHECK_RESULT(cuMemUnmap(address + 2 * piece, 4 * piece), invalid, "once");
  CHECK_RESULT(map_new_memory(address + 3 * piece, piece, first_device), CUDA_SUCCESS,
               "other memory can be mapped where they were");
  CHECK_RESULT(cuMemUnmap(address, 4 * piece), invalid, "a hole is in no range of mappings");
  REQUIRE_RESULT(cuMemUnmap(address, 2 * piece));
  REQUIRE_RESULT(cuMemUnmap(address + 3 * piece, piece));
  REQUIRE_RESULT(cuMemAddressFree(address, 8 * piece));
}

void check_pointer_attributes() {
  cudaPointerAttributes attributes;
  const CUdeviceptr address = reserve_addresses(2 * piece);
  unsigned char* const data = bytes_at(address);
  REQUIRE(cudaPointerGetAttributes(&attributes, data));
  CHECK(attributes.type == cudaMemoryTypeUnregistered, "addresses alone are no memory");
  REQUIRE_RESULT(map_new_memory(address, piece, second_device));
  REQUIRE(cudaPointerGetAttributes(&attributes, data + piece - 1));
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == second_device &&
            attributes.devicePointer == data + piece - 1 && attributes.hostPointer == nullptr,
        "what is mapped is memory of its device");
  REQUIRE(cudaPointerGetAttributes(&attributes, data + piece));
  CHECK(attributes.type == cudaMemoryTypeUnregistered, "up to its last byte");
  CHECK_STATUS(cudaFree(data), cudaErrorInvalidValue, "cudaFree does not take it");
  REQUIRE_RESULT(cuMemUnmap(address, piece));
  REQUIRE(cudaPointerGetAttributes(&attributes, data));
  CHECK(attributes.type == cudaMemoryTypeUnregistered, "and none when it is unmapped");
  REQUIRE_RESULT(cuMemAddressFree(address, 2 * piece));
}

// As for cudaMalloc: nothing that acts at once, unless the thread's capture mode is relaxed.
void check_capture() {
  const VirtualRange range(first_device, 1);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK_RESULT(set_access(range.address(), piece, second_device), CUDA_SUCCESS,
               "mappings can be changed during a capture by a thread that is relaxed");
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode));
  const auto forbidden = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CHECK_RESULT(cuMemUnmap(range.address(), piece), forbidden, "and by no other");
  CHECK(can_write(range.address()), "which changes nothing");
  CHECK_STATUS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated,
               "but invalidates the capture");
  REQUIRE(cudaStreamDestroy(stream));
}

}  // namespace

void check_virtual_addresses() {
  check_reservation_arguments();
  check_placement();
  check_hints();
  check_late_reuse();
  check_huge_reservations();
}

void check_physical_memory() {
  check_properties();
  check_granularity();
  check_creation();
  check_charges();
  check_charges_of_mappings();
}

void check_mappings() {
  check_mapping_arguments();
  check_whole_mappings();
  check_pointer_attributes();
  check_capture();
  CHECK(run_as_child("child-no-memory-files", "GRIDSTRIDE_HOST_THREADS", "1") == "mapped",
        "memory can be mapped, once, also without memory files");
  (void)cudaGetLastError();
}

}  // namespace runtime_test

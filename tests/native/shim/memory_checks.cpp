// Allocating, freeing and setting device memory.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

constexpr int32_t invalid_value = 1;
constexpr int32_t out_of_memory = 2;

std::vector<unsigned char> contents(int32_t stream, double address, size_t bytes) {
  std::vector<unsigned char> host(bytes);
  if (gs.gs_copy_to_host(0, stream, host.data(), address, static_cast<double>(bytes)) != 0) {
    host.clear();
  }
  return host;
}

void check_allocation() {
  const Tally before = tally();
  std::vector<double> addresses;
  double bytes_sum = 0;
  bool aligned = true;
  for (const double bytes : {1.0, 2.0, 255.0, 256.0, 257.0, 65537.0, 1048576.0}) {
    const double address = allocate(0, bytes);
    aligned = aligned && address > 0 && std::fmod(address, 256) == 0;
    addresses.push_back(address);
    bytes_sum += bytes;
  }
  check(aligned, "allocations of 1 byte to 1 MiB are aligned to 256 bytes");
  check_equal(tally().allocations - before.allocations, 7, "they are counted");
  check_equal(tally().bytes - before.bytes, bytes_sum, "and so are their bytes");
  bool freed = true;
  for (const double address : addresses) freed = freed && free_memory(0, address) == 0;
  check(freed && tally() == before, "and freed");

  set_operands(0, 0, {0});
  check_status(gs.gs_memory_allocate(), GS_ERROR_ARGUMENT, "allocating 0 bytes");
  set_operands(0, 0, {9007199254740991.0});
  check_status(gs.gs_memory_allocate(), out_of_memory, "allocating 2^53 - 1 bytes");
  set_operands(1 << 20, 0, {256});
  check_status(gs.gs_memory_allocate(), GS_ERROR_DEVICE, "allocating on a device there is not");
  check(tally() == before, "a refused allocation leaves nothing");
}

void check_freeing() {
  const double address = allocate(0, 4096);
  check_status(free_memory(0, address + 256), invalid_value, "freeing the inside of an allocation");
  check_status(free_memory(0, 0), invalid_value, "freeing null");
  check_status(free_memory(0, 4096), invalid_value, "freeing a wild address");
  check_status(free_memory(1 << 20, address), invalid_value, "freeing it on another device");
  gs.gs_call_fail(call_id("cudaFree"), 1, 999);
  check_status(free_memory(0, address), 999, "freeing it where CUDA fails");
  check_equal(tally().bytes, 4096, "leaves it counted");
  check_status(free_memory(0, address), 0, "freeing it");
  check_status(free_memory(0, address), invalid_value, "freeing it twice");
}

int32_t set(int32_t stream, double address, double value, double width, double count) {
  set_operands(0, stream, {address, value, width, count});
  return gs.gs_memory_set();
}

void check_setting() {
  const int32_t stream = make_stream(0);
  const double address = allocate(0, 64);
  bool right = true;
  for (const int width : {1, 2, 4}) {
    const double value = width == 1 ? 0xA5 : width == 2 ? 0x1234 : 0xDEADBEEF;
    right = right && set(stream, address, 0, 1, 64) == 0 &&
            set(stream, address + width, value, width, 64.0 / width - 2) == 0;
    const std::vector<unsigned char> bytes = contents(stream, address, 64);
    right = right && bytes.size() == 64;
    for (int index = 0; right && index < 64; index++) {
      const bool outside = index < width || index >= 64 - width;
      const uint32_t pattern = static_cast<uint32_t>(value) >> (8 * (index % width));
      right = bytes[static_cast<size_t>(index)] == (outside ? 0 : pattern & 0xFF);
    }
    check(right, "setting elements of " + std::to_string(width) + " bytes sets these and no other");
  }
  check_status(set(stream, address, 256, 1, 1), GS_ERROR_ARGUMENT, "the value 256 in 1 byte");
  check_status(set(stream, address, 65536, 2, 1), GS_ERROR_ARGUMENT, "the value 65536 in 2 bytes");
  check_status(set(stream, address, 4294967296.0, 4, 1), GS_ERROR_ARGUMENT, "2^32 in 4 bytes");
  check_status(set(stream, address, -1, 4, 1), GS_ERROR_ARGUMENT, "the value -1");
  for (const double width : {0.0, 3.0, 8.0, 0.5}) {
    check_status(set(stream, address, 0, width, 1), GS_ERROR_ARGUMENT,
                 "elements of " + std::to_string(width) + " bytes");
  }
  check_status(set(stream, address + 1, 0, 2, 1), GS_ERROR_ALIGNMENT, "2 bytes off alignment");
  check_status(set(stream, address + 2, 0, 4, 1), GS_ERROR_ALIGNMENT, "4 bytes off alignment");
  check_status(set(stream, address, 0, 1, 65), invalid_value, "one byte past the end");
  check_status(set(stream, address - 4, 0, 4, 2), invalid_value, "4 bytes before the beginning");
  check_status(set(stream, address, 0, 4, 9007199254740991.0), GS_ERROR_ARGUMENT,
               "more bytes than there are addresses");
  check_status(set(stream, 4096, 0, 1, 1), invalid_value, "a wild address");
  check_status(set(0, address, 0, 1, 1), GS_ERROR_HANDLE, "no stream");
  gs.gs_call_restore();
  double made_before = 0;
  double made_after = 0;
  gs.gs_call_tally(0, &made_before);
  check_status(set(stream, 0, 0, 4, 0), 0, "no elements, at any address");
  gs.gs_call_tally(0, &made_after);
  check_equal(made_after, made_before, "make no call");
  free_memory(0, address);
  check_status(set(stream, address, 0, 1, 1), invalid_value, "memory that was freed");
  gs.gs_stream_destroy(stream);
}

}  // namespace

void check_memory() {
  check_allocation();
  check_freeing();
  check_setting();
}

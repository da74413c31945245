// Linear copies between JavaScript's memory and the device's and within the device's.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

constexpr int32_t invalid_value = 1;

int32_t copy_device(int32_t stream, double destination, double source, double bytes) {
  set_operands(0, stream, {destination, source, bytes});
  return gs.gs_copy_device();
}

void check_round_trips(int32_t stream) {
  bool right = true;
  for (const size_t bytes : {1, 2, 3, 257, 4093, 65536, 1000003}) {
    std::vector<unsigned char> sent(bytes);
    std::iota(sent.begin(), sent.end(), static_cast<unsigned char>(bytes));
    std::vector<unsigned char> received(bytes + 1, 0xEE);
    const double size = static_cast<double>(bytes);
    const double first = allocate(0, size);
    const double second = allocate(0, size);
    right = right && gs.gs_copy_to_device(0, stream, first, sent.data(), size) == 0 &&
            copy_device(stream, second, first, size) == 0 &&
            gs.gs_copy_to_host(0, stream, received.data(), second, size) == 0;
    right =
        right && std::memcmp(sent.data(), received.data(), bytes) == 0 && received[bytes] == 0xEE;
    free_memory(0, first);
    free_memory(0, second);
  }
  check(right, "1 byte to 1 MB go to the device, within it, and back unchanged");
}

void check_ranges(int32_t stream) {
  std::vector<unsigned char> host(8192);
  const double memory = allocate(0, 4096);
  const double other = allocate(0, 4096);
  const auto to_device = [&](double address, double bytes) {
    return gs.gs_copy_to_device(0, stream, address, host.data(), bytes);
  };
  check_status(to_device(memory, 4096), 0, "all of an allocation");
  check_status(to_device(memory + 4095, 1), 0, "its last byte");
  // CUDA puts allocations side by side: only behind the last one is nothing.
  check_status(to_device(std::max(memory, other) + 4096, 1), invalid_value, "the byte after it");
  check_status(to_device(memory, 4097), invalid_value, "one byte more than it has");
  double last[3] = {};
  gs.gs_error_last(last);
  check_equal(last[1], 0, "which the shim finds out without a CUDA call");
  check_status(to_device(memory - 1, 2), invalid_value, "the byte before it");
  check_status(to_device(4096, 1), invalid_value, "a wild address");
  const double host_address = static_cast<double>(reinterpret_cast<uintptr_t>(host.data()));
  check_status(to_device(host_address, 1), invalid_value, "an address of the host's");
  check_status(to_device(9007199254740991.0, 2), GS_ERROR_ARGUMENT, "a sum beyond 2^53");
  check_status(copy_device(stream, memory, other + 1, 4096), invalid_value,
               "a source that ends outside");
  check_status(copy_device(stream, memory + 2048, memory, 2048), 0, "neighbours");
  check_status(copy_device(stream, memory + 2047, memory, 2048), GS_ERROR_OVERLAP,
               "an overlap of one byte");
  check_status(copy_device(stream, memory, memory, 1), GS_ERROR_OVERLAP, "a copy onto itself");
  check_status(gs.gs_copy_to_device(0, stream, memory, nullptr, 1), GS_ERROR_ARGUMENT, "no source");
  check_status(gs.gs_copy_to_host(0, stream, nullptr, memory, 1), GS_ERROR_ARGUMENT,
               "no destination");
  check_status(gs.gs_copy_to_device(1 << 20, stream, memory, host.data(), 1), GS_ERROR_FOREIGN,
               "a stream of another device");
  check_status(gs.gs_copy_to_device(0, 0, memory, host.data(), 1), GS_ERROR_HANDLE, "no stream");
  free_memory(0, memory);
  check_status(to_device(memory, 1), invalid_value, "memory that was freed");
  free_memory(0, other);
}

void check_empty_copies(int32_t stream) {
  double before = 0;
  double after = 0;
  gs.gs_call_tally(0, &before);
  check_status(gs.gs_copy_to_device(0, stream, 0, nullptr, 0), 0, "0 bytes to the device");
  check_status(gs.gs_copy_to_host(0, stream, nullptr, 0, 0), 0, "0 bytes to the host");
  check_status(copy_device(stream, 0, 0, 0), 0, "0 bytes within the device");
  set_operands(0, stream, {0, 0, 0, 0, 0});
  check_status(gs.gs_copy_peer(), 0, "0 bytes between devices");
  gs.gs_call_tally(0, &after);
  check_equal(after, before, "make no call");
}

}  // namespace

void check_copies() {
  const int32_t stream = make_stream(0);
  check_round_trips(stream);
  check_ranges(stream);
  check_empty_copies(stream);
  gs.gs_stream_destroy(stream);
}

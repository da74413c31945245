// Pinned slabs: registering, copying through them, and their life beyond JavaScript's mapping.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

constexpr int32_t invalid_value = 1;

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
const size_t slab_bytes = 16 * page;

unsigned char* map_slab(void* at = nullptr, size_t bytes = slab_bytes) {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  return static_cast<unsigned char*>(
      mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0));
}

int32_t pin(void* slab, size_t bytes = slab_bytes) {
  double handle = 0;
  gs.gs_pinned_register(0, slab, static_cast<double>(bytes), &handle);
  return static_cast<int32_t>(handle);
}

int32_t from_pinned(int32_t stream, double address, int32_t slab, double offset, double bytes) {
  set_operands(0, stream, {address, static_cast<double>(slab), offset, bytes});
  return gs.gs_copy_from_pinned();
}

int32_t to_pinned(int32_t stream, int32_t slab, double offset, double address, double bytes) {
  set_operands(0, stream, {static_cast<double>(slab), offset, address, bytes});
  return gs.gs_copy_to_pinned();
}

void check_registering() {
  unsigned char* const slab = map_slab();
  const double bytes = static_cast<double>(slab_bytes);
  double handle = 0;
  check_status(gs.gs_pinned_register(0, slab + 8, bytes - static_cast<double>(page), &handle),
               GS_ERROR_ALIGNMENT, "a slab off its page");
  check_status(gs.gs_pinned_register(0, slab, bytes - 8, &handle), GS_ERROR_ALIGNMENT,
               "a slab of a part of a page");
  check_status(gs.gs_pinned_register(0, slab, 0, &handle), GS_ERROR_ARGUMENT, "a slab of 0 bytes");
  check_status(gs.gs_pinned_register(0, nullptr, bytes, &handle), GS_ERROR_ARGUMENT, "no slab");
  check_status(gs.gs_pinned_register(0, slab, bytes, nullptr), GS_ERROR_ARGUMENT, "no result");
  check_status(gs.gs_pinned_register(4096, slab, bytes, &handle), GS_ERROR_DEVICE,
               "a slab for a device that is not there");

  std::memset(slab, 0x5A, slab_bytes);
  gs.gs_call_fail(call_id("cudaHostRegister"), 1, 999);
  check_status(gs.gs_pinned_register(0, slab, bytes, &handle), 999, "pinning where CUDA fails");
  check(slab[0] == 0x5A && slab[slab_bytes - 1] == 0x5A, "leaves the slab as it was");
  check_equal(tally().slabs, 0, "and nothing else");

  const int32_t pinned = pin(slab);
  check(pinned > 0, "pinning a slab");
  bool is_zero = true;
  for (size_t index = 0; index < slab_bytes; index++) is_zero = is_zero && slab[index] == 0;
  check(is_zero, "makes it all zeros");
  check(tally().slabs == 1 && tally().slab_bytes == bytes, "and counts it");
  gs.gs_call_fail(call_id("cudaHostUnregister"), 1, 999);
  check_status(gs.gs_pinned_release(pinned), 999, "releasing it where CUDA fails");
  check_equal(tally().slabs, 1, "leaves it pinned");
  check_status(gs.gs_pinned_release(pinned), 0, "releasing it");
  check_status(gs.gs_pinned_release(pinned), GS_ERROR_HANDLE, "releasing it twice");
  check(tally().slabs == 0 && tally().slab_bytes == 0, "leaves nothing");
  slab[0] = 1;
  check(slab[0] == 1 && slab[1] == 0, "the slab stays ordinary memory");
  munmap(slab, slab_bytes);
}

void check_copying(int32_t stream) {
  unsigned char* const slab = map_slab();
  const int32_t pinned = pin(slab);
  const double memory = allocate(0, static_cast<double>(slab_bytes));
  for (size_t index = 0; index < slab_bytes; index++) {
    slab[index] = static_cast<unsigned char>(index * 7);
  }
  const double half = static_cast<double>(slab_bytes / 2);
  check_status(from_pinned(stream, memory, pinned, 0, half), 0, "half a slab to the device");
  check_status(to_pinned(stream, pinned, half, memory, half), 0, "and into its other half");
  gs.gs_stream_synchronize(stream);
  check(std::memcmp(slab, slab + slab_bytes / 2, slab_bytes / 2) == 0, "arrives there");

  check_status(from_pinned(stream, memory, pinned, half, half + 1), invalid_value,
               "one byte past the end of the slab");
  check_status(from_pinned(stream, memory, pinned, 2 * half, 0), 0, "0 bytes at its end");
  check_status(from_pinned(stream, memory, pinned, 2 * half + 1, 0), invalid_value,
               "0 bytes beyond its end");
  check_status(from_pinned(stream, memory + 1, pinned, 0, 2 * half), invalid_value,
               "one byte past the end of the memory");
  check_status(to_pinned(stream, stream, 0, memory, 1), GS_ERROR_HANDLE,
               "a stream's handle given for a slab's");
  set_operands(0, stream, {memory, 100, static_cast<double>(pinned), 10, 64, 32, 4});
  check_status(gs.gs_copy_from_pinned_2d(), 0, "rows of a slab to the device");
  set_operands(0, stream, {static_cast<double>(pinned), half, 32, memory, 100, 32, 4});
  check_status(gs.gs_copy_to_pinned_2d(), 0, "and back");
  gs.gs_stream_synchronize(stream);
  bool right = true;
  for (size_t row = 0; row < 4; row++) {
    right = right && std::memcmp(slab + slab_bytes / 2 + 32 * row, slab + 10 + 64 * row, 32) == 0;
  }
  check(right, "arrive there");
  set_operands(0, stream, {memory, 100, static_cast<double>(pinned), 2 * half - 200, 64, 32, 4});
  check_status(gs.gs_copy_from_pinned_2d(), invalid_value, "rows past the end of the slab");
  check_status(gs.gs_pinned_release(pinned), 0, "releasing the slab");
  check_status(from_pinned(stream, memory, pinned, 0, 1), GS_ERROR_HANDLE, "using it after that");
  free_memory(0, memory);
  munmap(slab, slab_bytes);
}

// Parts of a slab that several threads copy to memory of the program.
void check_reading() {
  const size_t large = (5 << 20) + 2 * page;
  unsigned char* const slab = map_slab(nullptr, large);
  const int32_t pinned = pin(slab, large);
  for (size_t index = 0; index < large; index++) {
    slab[index] = static_cast<unsigned char>(index * 2654435761u >> 24);
  }
  const auto read = [&](double offset, void* to, double bytes, int32_t threads) {
    return gs.gs_pinned_read(pinned, offset, to, bytes, threads);
  };
  for (const size_t bytes : {size_t{1}, (size_t{2} << 20) - 1, size_t{2} << 20, large - 4}) {
    bool right = true;
    for (const int32_t threads : {1, 2, 3, GS_MAX_COPY_THREADS}) {
      std::vector<unsigned char> received(bytes + 2, 0xA5);
      right = right && read(3, received.data() + 1, static_cast<double>(bytes), threads) == 0 &&
              std::memcmp(received.data() + 1, slab + 3, bytes) == 0 && received[0] == 0xA5 &&
              received[bytes + 1] == 0xA5;
    }
    check(right, "threads copy these bytes of a slab and no others");
  }

  unsigned char byte = 0;
  const double end = static_cast<double>(large);
  check_status(read(end, &byte, 1, 1), invalid_value, "reading past the end of a slab");
  check_status(read(end, nullptr, 0, 1), 0, "0 bytes at its end");
  check_status(read(0, nullptr, 1, 1), GS_ERROR_ARGUMENT, "reading to nowhere");
  check_status(read(0, &byte, 1, 0), GS_ERROR_ARGUMENT, "by no threads");
  check_status(read(0, &byte, 1, GS_MAX_COPY_THREADS + 1), GS_ERROR_ARGUMENT, "by too many");
  check_status(gs.gs_pinned_release(pinned), 0, "releasing a slab that was read");
  check_status(read(0, &byte, 1, 1), GS_ERROR_HANDLE, "reading it after that");
  munmap(slab, large);
}

// A slab is released while the device still has a copy into it to make, behind 1 GiB of other work.
void check_release_waits(int32_t stream, bool by_rows) {
  unsigned char* const slab = map_slab();
  const int32_t pinned = pin(slab);
  constexpr double large = 64 << 20;
  const double memory = allocate(0, 2 * large);
  set_operands(0, stream, {memory, 0x77, 1, 2 * large});
  gs.gs_memory_set();
  for (int copy = 0; copy < 16; copy++) {
    set_operands(0, stream, {memory, memory + large, large});
    gs.gs_copy_device();
  }
  const double width = static_cast<double>(page);
  if (by_rows) {
    set_operands(0, stream, {static_cast<double>(pinned), 0, width, memory, width, width, 16});
    gs.gs_copy_to_pinned_2d();
  } else {
    to_pinned(stream, pinned, 0, memory, static_cast<double>(slab_bytes));
  }
  check_status(gs.gs_pinned_release(pinned), 0, "releasing a slab that a copy is on its way to");
  bool arrived = true;
  for (size_t index = 0; index < slab_bytes; index++) arrived = arrived && slab[index] == 0x77;
  check(arrived, "waits for the copy");
  free_memory(0, memory);
  munmap(slab, slab_bytes);
}

// What happens when an isolate ends: its mapping goes, the address is used again.
void check_lost_isolate(int32_t stream) {
#ifdef __linux__
  unsigned char* const slab = map_slab();
  const int32_t pinned = pin(slab);
  const double bytes = static_cast<double>(slab_bytes);
  const double memory = allocate(0, bytes);
  std::memset(slab, 0x11, slab_bytes);
  munmap(slab, slab_bytes);
  check_status(from_pinned(stream, memory, pinned, 0, bytes), 0,
               "a copy from a slab that JavaScript no longer has");
  std::vector<unsigned char> received(slab_bytes);
  gs.gs_copy_to_host(0, stream, received.data(), memory, bytes);
  check(received == std::vector<unsigned char>(slab_bytes, 0x11), "brings what it held");

  unsigned char* const again = map_slab(slab);
  const int32_t second = pin(again);
  check(again == slab && second > 0, "another slab at the same address");
  std::memset(again, 0x22, slab_bytes);
  from_pinned(stream, memory, pinned, 0, bytes);
  gs.gs_copy_to_host(0, stream, received.data(), memory, bytes);
  check(received[0] == 0x11, "has pages of its own");
  check_status(gs.gs_pinned_release(pinned), 0, "releasing the lost slab");
  check(again[slab_bytes - 1] == 0x22, "does not touch the other");
  check_status(gs.gs_pinned_release(second), 0, "releasing that one");
  munmap(again, slab_bytes);
  free_memory(0, memory);
#else
  static_cast<void>(stream);
  skip("the life of a slab beyond its isolate: this system has no memory files");
#endif
}

}  // namespace

void check_pinned() {
  const int32_t stream = make_stream(0);
  check_registering();
  check_copying(stream);
  check_reading();
  check_release_waits(stream, false);
  check_release_waits(stream, true);
  check_lost_isolate(stream);
  gs.gs_stream_destroy(stream);
}

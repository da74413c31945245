// Every function with every kind of wrong value: each answers with a status, nothing crashes, and
// nothing comes into being. Fixed seed, so that a failure repeats.
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "check.h"
#include "suites.h"

namespace {

constexpr double doubles[] = {0,
                              -0.0,
                              1,
                              -1,
                              0.5,
                              3,
                              255,
                              256,
                              4096,
                              65536,
                              2147483647,
                              2147483648.0,
                              4294967295.0,
                              4294967296.0,
                              1099511627776.0,
                              140737488355328.0,
                              9007199254740991.0,
                              9007199254740992.0,
                              1e300,
                              -1e300,
                              5e-324,
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()};

constexpr int32_t integers[] = {0,  1,   -1,      2,       3,         16,        47,       64,
                                81, 160, 1048576, 1048577, INT32_MIN, INT32_MAX, 123456789};

// What a hostile call may read and write: large enough for every result and every text.
struct Scratch {
  alignas(4096) unsigned char bytes[1 << 16];
};
Scratch scratch;

// Draws arguments by the types of the function's parameters. Pointers are null or memory of ours:
// no library can tell a wild one.
class Caller {
 public:
  template <class... Types>
  int32_t call(int32_t (*function)(Types...)) {
    return function(drawn<Types>()...);
  }

  void fill_block() {
    double* const slots = reinterpret_cast<double*>(&block);
    for (size_t slot = 0; slot < sizeof(block) / sizeof(double); slot++) {
      slots[slot] = pick(doubles);
    }
    // Half of the time a small integer, so that calls get past their first checks.
    for (double& operand : block.operand) {
      if (random_() % 2 == 0) operand = static_cast<double>(random_() % 8);
    }
  }

 private:
  template <class Value, size_t count>
  Value pick(const Value (&values)[count]) {
    return values[random_() % count];
  }

  template <class Type>
  Type drawn() {
    if constexpr (std::is_same_v<Type, double>) {
      return pick(doubles);
    } else if constexpr (std::is_same_v<Type, int32_t>) {
      return pick(integers);
    } else {
      static_assert(std::is_pointer_v<Type>, "the ABI has int32_t, double and pointers");
      return random_() % 3 == 0 ? nullptr : reinterpret_cast<Type>(scratch.bytes);
    }
  }

  std::mt19937 random_{20240229};
};

// Functions that hostile input can be right for, and which then make something that must be given
// back; they are called below.
bool is_called_apart(const char* name) {
  for (const char* apart :
       {"gs_topology_set", "gs_call_fail", "gs_block_register", "gs_block_release",
        "gs_stream_create", "gs_stream_adopt", "gs_event_create", "gs_pinned_register",
        "gs_memory_allocate", "gs_virtual_reserve", "gs_module_create"}) {
    if (std::strcmp(name, apart) == 0) return true;
  }
  return false;
}

bool is_status(int32_t status) { return status >= GS_ERROR_IMAGE && status < 10000; }

void check_hostile_makers() {
  bool sane = true;
  double handle = 0;
  for (const int32_t device : integers) {
    for (const int32_t second : integers) {
      const int32_t stream = gs.gs_stream_create(device, second, &handle);
      if (stream == 0) sane = sane && gs.gs_stream_destroy(static_cast<int32_t>(handle)) == 0;
      const int32_t event = gs.gs_event_create(device, second, &handle);
      if (event == 0) sane = sane && gs.gs_event_destroy(static_cast<int32_t>(handle)) == 0;
      sane = sane && is_status(stream) && is_status(event);
    }
  }
  check(sane, "survives hostile input: gs_stream_create, gs_event_create");
  sane = true;
  for (const double device : doubles) {
    for (const double bytes : doubles) {
      set_operands(0, 0, {bytes});
      block.device = device;
      const int32_t status = gs.gs_memory_allocate();
      sane = sane && is_status(status);
      if (status == 0) sane = sane && free_memory(static_cast<int>(device), block.result[0]) == 0;
    }
  }
  check(sane, "survives hostile input: gs_memory_allocate");
  sane = true;
  for (const int32_t device : integers) {
    for (const double bytes : doubles) {
      const int32_t status = gs.gs_virtual_reserve(device, bytes, &handle);
      sane = sane && is_status(status);
      if (status == 0) sane = sane && gs.gs_virtual_release(device, handle) == 0;
    }
  }
  check(sane, "survives hostile input: gs_virtual_reserve");
  sane = true;
  // Only what no check can take for a stream: a wild pointer is the driver's to judge.
  for (const double address : {-1.0, 0.0, 1.0, 2.0, 0.5, 9007199254740992.0, std::nan("")}) {
    sane = sane && gs.gs_stream_adopt(0, address, &handle) == GS_ERROR_ARGUMENT;
  }
  check(sane, "gs_stream_adopt() refuses what is no address, and the default streams");
}

// Nobody can tell how much memory an image really has, so no size is larger than the scratch.
void check_hostile_images() {
  bool sane = true;
  std::mt19937 random{19};
  for (const int32_t device : {0, 1, -1, INT32_MAX}) {
    for (const double bytes : doubles) {
      if (bytes > sizeof(scratch)) continue;
      // What CUDA's formats and the system's begin with.
      for (const uint32_t magic : {0x464C457Fu, 0xBA55ED50u, 0x466243B1u, 0xFEEDFACFu, 0u}) {
        for (unsigned char& byte : scratch.bytes) byte = static_cast<unsigned char>(random());
        std::memcpy(scratch.bytes, &magic, sizeof(magic));
        double handle = 0;
        const int32_t created = gs.gs_module_create(device, scratch.bytes, bytes, &handle);
        sane = sane && is_status(created);
        if (created != 0) continue;
        const int32_t module = static_cast<int32_t>(handle);
        const int32_t loaded = gs.gs_module_load(module);
        sane = sane && loaded != 0 && is_status(loaded) && gs.gs_module_destroy(module) == 0;
      }
    }
  }
  check(sane, "survives hostile input: gs_module_create, gs_module_load");
  std::memset(scratch.bytes, 0, sizeof(scratch.bytes));
}

// A slab's pages are replaced, so it needs pages of its own.
void check_hostile_slabs() {
  constexpr size_t size = 1 << 16;
  void* const slab =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  double handle = 0;
  bool refused = true;
  for (const double bytes : doubles) {
    const bool would_fit = bytes > 0 && bytes <= size && std::fmod(bytes, 4096) == 0;
    if (!would_fit && bytes <= size) {
      refused = refused && gs.gs_pinned_register(0, slab, bytes, &handle) < 0;
    }
  }
  check(refused, "gs_pinned_register() refuses every wrong size");
  munmap(slab, size);
}

}  // namespace

void check_hostile_input() {
  const Tally before = tally();
  Caller caller;
#define GS_CALL_HOSTILE(function)                      \
  if (!is_called_apart(#function)) {                   \
    bool sane = true;                                  \
    for (int round = 0; round < 400; round++) {        \
      caller.fill_block();                             \
      const int32_t status = caller.call(gs.function); \
      sane = sane && is_status(status);                \
    }                                                  \
    check(sane, "survives hostile input: " #function); \
  }
  GS_FUNCTIONS(GS_CALL_HOSTILE)
#undef GS_CALL_HOSTILE
  check_hostile_makers();
  check_hostile_images();
  check_hostile_slabs();

  double result = 0;
  check_status(gs.gs_topology_set(nullptr, 1), GS_ERROR_ARGUMENT, "a topology without records");
  check_status(gs.gs_topology_set(&result, -1), GS_ERROR_ARGUMENT, "a topology of -1 devices");
  for (const double nth : {0.0, -1.0, 0.5, 9007199254740992.0, std::nan("")}) {
    check_status(gs.gs_call_fail(0, nth, 2), GS_ERROR_ARGUMENT,
                 "failing call number " + std::to_string(nth));
  }
  check_status(gs.gs_call_fail(0, 1, 0), GS_ERROR_ARGUMENT, "failing a call with success");
  check_status(gs.gs_call_fail(-1, 1, 2), GS_ERROR_NOT_FOUND, "failing calls of kind -1");
  check(tally() == before, "hostile input leaves no resources behind");
}

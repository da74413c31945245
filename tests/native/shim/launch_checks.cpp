// Kernels by name, their attributes, and how a launch converts its arguments.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

int32_t find_kernel(const char* name) {
  double id = 0;
  return gs.gs_kernel_find(name, &id) == 0 ? static_cast<int32_t>(id) : 0;
}

std::string describe(int32_t kernel) {
  char text[1024] = {};
  return gs.gs_kernel_describe(kernel, text, sizeof(text)) == 0 ? text : "";
}

struct Launch {
  int32_t kernel;
  double grid[3] = {1, 1, 1};
  double block[3] = {1, 1, 1};
  double shared_bytes = 0;
  double raw_words[2] = {0, 0};
};

int32_t launch(int32_t stream, const Launch& config, const std::vector<double>& arguments) {
  set_operands(
      0, stream,
      {static_cast<double>(config.kernel), config.grid[0], config.grid[1], config.grid[2],
       config.block[0], config.block[1], config.block[2], config.shared_bytes,
       static_cast<double>(arguments.size()), config.raw_words[0], config.raw_words[1], 0, 0});
  for (size_t index = 0; index < arguments.size(); index++) {
    block.argument[index] = arguments[index];
  }
  return gs.gs_kernel_launch();
}

void check_names() {
  double count = 0;
  check_status(gs.gs_kernel_count(&count), 0, "gs_kernel_count()");
  bool ordered = true;
  bool found = true;
  std::string previous;
  for (int32_t id = 1; id <= count; id++) {
    const std::string declaration = describe(id);
    const std::string name = declaration.substr(0, declaration.find('('));
    ordered = ordered && previous < name && declaration.back() == ')';
    found = found && find_kernel(name.c_str()) == id;
    previous = name;
  }
  check(ordered, std::to_string(static_cast<int>(count)) + " kernels are in the order of names");
  check(found, "each is found by its name");
  double id = 0;
  check_status(gs.gs_kernel_find("no such kernel", &id), GS_ERROR_NOT_FOUND, "an unknown name");
  check_status(gs.gs_kernel_find("", &id), GS_ERROR_NOT_FOUND, "an empty name");
  char text[64];
  check_status(gs.gs_kernel_describe(0, text, 64), GS_ERROR_NOT_FOUND, "kernel 0");
  check_status(gs.gs_kernel_describe(static_cast<int32_t>(count) + 1, text, 64), GS_ERROR_NOT_FOUND,
               "the kernel after the last");
}

void check_loading() {
  double is_loaded = 0;
  const int32_t kernel = find_kernel("fill_uint32");
  check_status(gs.gs_kernel_load(0, kernel), 0, "gs_kernel_load()");
  const int32_t status = gs.gs_kernel_loaded(0, kernel, &is_loaded);
  check((status == 0 && is_loaded == 1) || status == GS_ERROR_UNSUPPORTED, "loads the kernel");
  check_status(gs.gs_kernel_load(-1, kernel), GS_ERROR_DEVICE, "on device -1");
  check_status(gs.gs_kernel_load(0, 0), GS_ERROR_NOT_FOUND, "kernel 0");
  if (!is_host()) return;
  gs.gs_kernel_loaded(0, find_kernel("fill_uint64"), &is_loaded);
  check_equal(is_loaded, 0, "and no other");
}

// Launches one of the store kernels and returns the bytes that arrived, in the low end.
struct Stored {
  int32_t status;
  uint64_t bits;
};

Stored store(int32_t stream, const std::string& type, double value, bool raw = false) {
  const double memory = allocate(0, 8);
  set_operands(0, stream, {memory, 0, 1, 8});
  gs.gs_memory_set();
  Launch config{find_kernel(("store_" + type).c_str())};
  config.raw_words[0] = raw ? 1 : 0;
  Stored stored{launch(stream, config, {value, memory}), 0};
  gs.gs_copy_to_host(0, stream, &stored.bits, memory, 8);
  free_memory(0, memory);
  return stored;
}

void check_integers(int32_t stream) {
  struct Range {
    const char* type;
    int bits;
    double least, greatest, below, above;
  };
  const double safe = 9007199254740991.0;
  for (const Range& range :
       {Range{"bool", 8, 0, 1, -1, 2}, Range{"int8", 8, -128, 127, -129, 128},
        Range{"uint8", 8, 0, 255, -1, 256}, Range{"int16", 16, -32768, 32767, -32769, 32768},
        Range{"uint16", 16, 0, 65535, -1, 65536},
        Range{"int32", 32, -2147483648.0, 2147483647, -2147483649.0, 2147483648.0},
        Range{"uint32", 32, 0, 4294967295.0, -1, 4294967296.0},
        Range{"int64", 64, -safe, safe, -safe - 1, safe + 1},
        Range{"uint64", 64, 0, safe, -1, safe + 1}}) {
    const std::string name = range.type;
    const uint64_t mask = range.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << range.bits) - 1;
    bool right = true;
    for (const double value : {range.least, range.greatest, 0.0, 1.0, -0.0}) {
      const Stored stored = store(stream, name, value);
      right = right && stored.status == 0 &&
              stored.bits == (static_cast<uint64_t>(static_cast<int64_t>(value)) & mask);
    }
    check(right, name + " takes all of its range");
    bool refused = true;
    for (const double value : {range.below, range.above, 0.5, infinity, -infinity, std::nan("")}) {
      refused = refused && store(stream, name, value).status == GS_ERROR_ARGUMENT;
    }
    check(refused, name + " takes nothing else");
  }
}

void check_floats(int32_t stream) {
  const auto right = [&](const char* type, double value, uint64_t bits) {
    const Stored stored = store(stream, type, value);
    return stored.status == 0 && stored.bits == bits;
  };
  check(right("float64", -0.0, 0x8000000000000000u) && right("float64", 1e300, 0x7E37E43C8800759Cu),
        "float64 takes a double as it is");
  check(right("float32", 0.1, 0x3DCCCCCDu) && right("float32", 1e300, 0x7F800000u) &&
            right("float32", -infinity, 0xFF800000u),
        "float32 rounds to nearest and to infinity");
  // 1 + 2^-11 is halfway between two halves; a nudge of 2^-30 is lost if rounded to float first.
  check(right("float16", 1.00048828125, 0x3C00u) &&
            right("float16", 1.00048828125 + std::ldexp(1, -30), 0x3C01u) &&
            right("float16", 65520, 0x7C00u),
        "float16 rounds once, to nearest even and to infinity");
  check(right("bfloat16", 1.00390625, 0x3F80u) &&
            right("bfloat16", 1.00390625 + std::ldexp(1, -30), 0x3F81u) &&
            right("bfloat16", 1e300, 0x7F80u),
        "bfloat16 rounds once, to nearest even and to infinity");
  bool nan = true;
  for (const char* type : {"float64", "float32", "float16", "bfloat16"}) {
    nan = nan && store(stream, type, std::nan("")).status == 0;
  }
  check(nan, "every floating type takes NaN");
}

void check_raw(int32_t stream) {
  bool right = true;
  // The last two are signalling NaNs, which must not be quieted on the way.
  for (const uint64_t bits : {uint64_t{0}, ~uint64_t{0}, uint64_t{0x8000000000000000u},
                              uint64_t{0x7FF0000000000001u}, uint64_t{0xFFF4000000000003u}}) {
    double slot = 0;
    std::memcpy(&slot, &bits, sizeof(slot));
    for (const char* type : {"int64", "uint64", "float64"}) {
      const Stored stored = store(stream, type, slot, true);
      right = right && stored.status == 0 && stored.bits == bits;
    }
    right = right && store(stream, "uint16", slot, true).bits == (bits & 0xFFFF);
  }
  check(right, "raw slots arrive bit by bit");
}

void check_mixed(int32_t stream) {
  const int32_t kernel = find_kernel("mixed_arguments");
  check(describe(kernel) ==
            "mixed_arguments(signed char,double,short,float,bool,"
            "unsigned long long,const int*,double*)",
        "a declaration spells every type as CUDA does");
  const double memory = allocate(0, 64);
  set_operands(0, stream, {memory, 99, 4, 16});
  gs.gs_memory_set();
  const double out = memory + 8;
  const std::vector<double> arguments{-5, 2.5, -300, 0.25, 1, 1099511627776.0, memory, out};
  check_status(launch(stream, Launch{kernel}, arguments), 0, "a launch with eight arguments");
  double received[7] = {};
  gs.gs_copy_to_host(0, stream, received, out, sizeof(received));
  const double expected[7] = {-5, 2.5, -300, 0.25, 1, 1099511627776.0, 99};
  check(std::memcmp(received, expected, sizeof(received)) == 0, "each arrives where it belongs");
  std::vector<double> fewer = arguments;
  fewer.pop_back();
  check_status(launch(stream, Launch{kernel}, fewer), GS_ERROR_LAUNCH, "one argument too few");
  std::vector<double> more = arguments;
  more.push_back(0);
  check_status(launch(stream, Launch{kernel}, more), GS_ERROR_LAUNCH, "one too many");
  std::vector<double> wild = arguments;
  wild[6] = 9007199254740992.0;
  check_status(launch(stream, Launch{kernel}, wild), GS_ERROR_ARGUMENT, "a pointer of 2^53");
  free_memory(0, memory);
}

// Needs any kernel without parameters.
void check_geometry(int32_t stream, int32_t kernel) {
  // The runtime's word, and the driver's, which launches kernels on a GPU.
  constexpr int32_t invalid_configuration = 9;
  constexpr int32_t invalid_value = 1;
  const auto check_refused = [&](const Launch& config, const char* claim) {
    const int32_t status = launch(stream, config, {});
    check(status == invalid_configuration || status == invalid_value, claim);
  };
  check_status(launch(stream, Launch{kernel}, {}), 0, "a launch without arguments");
  Launch config{kernel};
  config.block[0] = 0;
  check_refused(config, "block.x 0 is refused");
  config.block[0] = 1025;
  check_refused(config, "block.x 1025 is refused");
  config.block[0] = 4294967296.0;
  check_status(launch(stream, config, {}), GS_ERROR_ARGUMENT, "block.x 2^32");
  config.block[0] = 1.5;
  check_status(launch(stream, config, {}), GS_ERROR_ARGUMENT, "block.x 1.5");
  config.block[0] = 1;
  config.grid[1] = 65536;
  check_refused(config, "grid.y 65536 is refused");
  config.grid[1] = 1;
  config.shared_bytes = 4294967296.0;
  check_status(launch(stream, config, {}), GS_ERROR_ARGUMENT, "2^32 bytes of shared memory");
  check_status(launch(stream, Launch{0}, {}), GS_ERROR_NOT_FOUND, "kernel 0");
  check_status(launch(0, Launch{kernel}, {}), GS_ERROR_HANDLE, "no stream");
  check_status(gs.gs_stream_synchronize(stream), 0, "the refused launches left no error");
}

void check_attributes(int32_t kernel) {
  double attributes[8] = {};
  check_status(gs.gs_kernel_attributes(0, kernel, attributes), 0, "gs_kernel_attributes()");
  check(attributes[0] >= 32 && attributes[0] <= 1024, "tells the most threads per block");
  check_status(gs.gs_kernel_reserve(0, kernel, 49152), 0, "reserving 48 KiB");
  check_status(gs.gs_kernel_reserve(0, kernel, -1), GS_ERROR_ARGUMENT, "reserving -1 bytes");
  check_status(gs.gs_kernel_reserve(0, kernel, 2147483648.0), GS_ERROR_ARGUMENT,
               "reserving 2^31 bytes");
  check(gs.gs_kernel_reserve(0, kernel, 1 << 30) > 0, "reserving more than any device has");
  check_status(gs.gs_kernel_attributes(0, 0, attributes), GS_ERROR_NOT_FOUND, "of kernel 0");
}

}  // namespace

void check_launches() {
  const int32_t stream = make_stream(0);
  check_names();
  check_loading();
  const int32_t own = find_kernel("no_parameters");
  const int32_t plain = own != 0 ? own : find_kernel("empty");
  if (plain != 0) {
    check_geometry(stream, plain);
    check_attributes(plain);
  } else {
    skip("launch geometry: the library has no kernel without parameters");
  }
  if (own != 0) {
    check_integers(stream);
    check_floats(stream);
    check_raw(stream);
    check_mixed(stream);
  } else {
    skip("argument conversion: argument_kernels.cu is not linked in");
  }
  gs.gs_stream_destroy(stream);
}

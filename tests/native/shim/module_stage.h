// What the checks of modules have in common: machine code, and words for the calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check.h"

// A shared library for the host device; the program's second argument, which may be absent.
extern std::string module_file;

// The kernels of ../module_kernels.cu: that file, or for CUDA PTX. Empty when there is no file.
std::vector<char> machine_code();

int32_t create_module(int32_t device, const std::vector<char>& image, int32_t& module);
int32_t make_loaded_module(int32_t device, const std::vector<char>& image);
std::string log_of_module(int32_t module);

struct FoundKernel {
  int32_t status;
  int32_t id;
};

// Of each parameter its kind and its bytes.
FoundKernel find_in_module(int32_t module, const char* name,
                           const std::vector<int32_t>& parameters);

const std::vector<int32_t> store_parameters = {GS_PARAMETER_SIGNED, 4, GS_PARAMETER_POINTER, 8};
const std::vector<int32_t> move_parameters = {GS_PARAMETER_BYTES,   24, GS_PARAMETER_BYTES, 16,
                                              GS_PARAMETER_POINTER, 8};
const std::vector<int32_t> spin_parameters = {GS_PARAMETER_SIGNED, 8, GS_PARAMETER_POINTER, 8};

// What a plain launch has as zero.
struct LaunchExtras {
  double flags = 0;
  double cluster = 0;
  int device = 0;
};

// One thread; `count` arguments in these slots.
int32_t launch_slots(int32_t stream, int32_t kernel, const std::vector<double>& slots, double count,
                     const LaunchExtras& extras = {});

template <class Value>
Value read_value(int32_t stream, double address) {
  Value value{};
  gs.gs_copy_to_host(0, stream, &value, address, sizeof(value));
  return value;
}

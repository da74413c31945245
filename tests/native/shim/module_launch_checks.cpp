// Launching kernels of modules, and giving modules back that are in use.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "module_stage.h"
#include "suites.h"

namespace {

constexpr int32_t injected = 999;

// CUDA may wait for the device when it loads a kernel: no launch is to do that.
void check_kernels_are_loaded(int32_t module) {
  for (const auto& [name, parameters] :
       {std::pair{"store_int", store_parameters}, std::pair{"spin", spin_parameters}}) {
    double is_loaded = 0;
    const int32_t kernel = find_in_module(module, name, parameters).id;
    const int32_t status = gs.gs_kernel_loaded(0, kernel, &is_loaded);
    if (status == GS_ERROR_UNSUPPORTED) return skip("whether kernels are loaded: an old driver");
    check(status == 0 && is_loaded == 1, std::string("gs_module_load() loads ") + name);
    check_status(gs.gs_kernel_load(0, kernel), 0, "loading it again");
  }
}

// Operands that a plain launch has as zero.
void check_blocks_at_once(int32_t module, int32_t stream) {
  const double memory = allocate(0, 256);
  const int32_t store = find_in_module(module, "store_int", store_parameters).id;
  const auto status = [&](double flags, double cluster) {
    return launch_slots(stream, store, {5, memory}, 2, {flags, cluster});
  };
  check_status(status(GS_LAUNCH_COOPERATIVE, 0), 0, "a cooperative launch");
  check_equal(read_value<int32_t>(stream, memory), 5, "runs");
  for (const double flags : {2.0, -1.0, 0.5}) {
    check_status(status(flags, 0), GS_ERROR_ARGUMENT, "flags " + std::to_string(flags));
  }
  // Extents of x alone, of none in y, and beyond 24 bits.
  for (const double cluster : {1.0, 65537.0, 16777216.0, -1.0}) {
    check_status(status(0, cluster), GS_ERROR_ARGUMENT, "cluster " + std::to_string(cluster));
  }
  constexpr double cluster_of_one = 65536 + 256 + 1;
  constexpr int32_t not_supported = 801;
  if (is_host()) check_status(status(0, cluster_of_one), not_supported, "a cluster");
  check_status(status(0, 0), 0, "a plain launch after all that");
  free_memory(0, memory);
}

// Failures of a sound module.
void check_ends(const std::vector<char>& image, int32_t stream) {
  const Tally before = tally();
  const int32_t module = make_loaded_module(0, image);
  const double memory = allocate(0, 256);
  set_operands(0, stream, {memory, 0, 1, 256});
  gs.gs_memory_set();
  const int32_t spin = find_in_module(module, "spin", spin_parameters).id;
  check_status(launch_slots(stream, spin, {50e6, memory}, 2), 0, "a kernel that takes some time");
  for (const char* call : {"cudaDeviceSynchronize", "cudaLibraryUnload"}) {
    gs.gs_call_fail(call_id(call), 1, injected);
    check_status(gs.gs_module_destroy(module), injected, std::string("a failing ") + call);
  }
  check_equal(tally().modules, before.modules + 1, "keeps the module");
  check_status(gs.gs_module_destroy(module), 0, "destroying it again");
  check_equal(read_value<int32_t>(stream, memory), 1, "the launch has run to its end");
  check_status(launch_slots(stream, spin, {1, memory}, 2), GS_ERROR_HANDLE,
               "its kernels have ended");
  double result[8];
  check_status(gs.gs_kernel_attributes(0, spin, result), GS_ERROR_HANDLE, "for all calls");
  free_memory(0, memory);
  check(tally() == before, "nothing is left");
}

// While others launch: each launch happens or is refused.
void check_races(const std::vector<char>& image, int32_t stream) {
  const double memory = allocate(0, 256);
  for (int round = 0; round < 20; round++) {
    int32_t module = 0;
    create_module(0, image, module);
    gs.gs_module_load(module);
    const int32_t kernel = find_in_module(module, "store_int", store_parameters).id;
    bool sane = true;
    std::thread other([&] {
      gs_command_block own = {};
      gs.gs_block_register(&own, sizeof(own));
      own.stream = stream;
      const double operands[] = {static_cast<double>(kernel), 1, 1, 1, 1, 1, 1, 0, 2};
      std::memcpy(own.operand, operands, sizeof(operands));
      own.argument[1] = memory;
      int32_t status = 0;
      while (status == 0) status = gs.gs_kernel_launch();
      sane = status == GS_ERROR_HANDLE;
      gs.gs_block_release();
    });
    const int32_t destroyed = gs.gs_module_destroy(module);
    other.join();
    if (round == 0 || !sane || destroyed != 0) {
      check(sane && destroyed == 0, "destroying a module while another thread launches");
    }
  }
  check_status(gs.gs_stream_synchronize(stream), 0, "the device goes on");
  free_memory(0, memory);
}

// No thread may wait for a device with a captured stream, so the module stays.
void check_capture(int32_t module, int32_t stream) {
  const double memory = allocate(0, 256);
  const int32_t store = find_in_module(module, "store_int", store_parameters).id;
  constexpr int32_t thread_local_mode = 1;
  check_status(gs.gs_stream_capture(stream, thread_local_mode), 0, "capturing");
  check_status(launch_slots(stream, store, {8, memory}, 2), 0, "a module's kernel");
  double result = 0;
  check_status(gs.gs_stream_capture_end(stream, &result), 0, "makes a graph");
  const int32_t graph = static_cast<int32_t>(result);
  set_operands(0, stream, {result});
  check_status(gs.gs_graph_launch(), 0, "that can be launched");
  check_equal(read_value<int32_t>(stream, memory), 8, "and runs it");
  gs.gs_graph_destroy(graph);
  gs.gs_stream_capture(stream, thread_local_mode);
  constexpr int32_t capture_unsupported = 900;
  check_status(gs.gs_module_destroy(module), capture_unsupported, "giving it back in a capture");
  gs.gs_stream_capture_end(stream, &result);
  check_status(launch_slots(stream, store, {9, memory}, 2), 0, "leaves it as it was");
  check_equal(read_value<int32_t>(stream, memory), 9, "with its kernels");
  free_memory(0, memory);
}

}  // namespace

void check_modules_of_two_devices() {
  const std::vector<char> image = machine_code();
  if (image.empty()) return;
  const Tally before = tally();
  const int32_t streams[2] = {make_stream(0), make_stream(1)};
  const int32_t modules[2] = {make_loaded_module(0, image), make_loaded_module(1, image)};
  double counters[2][2] = {};
  for (int device = 0; device < 2; device++) {
    gs.gs_module_variable(modules[device], "counter", counters[device]);
    const int32_t count = find_in_module(modules[device], "count", {GS_PARAMETER_SIGNED, 4}).id;
    const double by = 10 * (device + 1);
    const int32_t stream = streams[device];
    check_status(launch_slots(stream, count, {by}, 1, {0, 0, device}), 0, "counting on a device");
    check_status(launch_slots(streams[1 - device], count, {by}, 1, {0, 0, 1 - device}),
                 GS_ERROR_FOREIGN, "and with its kernel on the other");
    double result[8] = {};
    check_status(gs.gs_kernel_attributes(1 - device, count, result), GS_ERROR_FOREIGN,
                 "nor are its attributes told there");
    check_status(gs.gs_kernel_residency(1 - device, count, 1, 0, result), GS_ERROR_FOREIGN,
                 "or its residency");
    gs.gs_stream_synchronize(stream);
  }
  int32_t counted[2] = {};
  for (int device = 0; device < 2; device++) {
    gs.gs_copy_to_host(device, streams[device], &counted[device], counters[device][0], 4);
  }
  check(counted[0] == 13 && counted[1] == 23, "each device has variables of its own");
  for (const int32_t module : modules) check_status(gs.gs_module_destroy(module), 0, "given back");
  for (const int32_t stream : streams) gs.gs_stream_destroy(stream);
  check(tally() == before, "two devices' modules leave nothing behind");
}

void check_module_launches() {
  const std::vector<char> image = machine_code();
  if (image.empty()) {
    skip("launches of modules' kernels: no machine code was given");
    return;
  }
  const Tally before = tally();
  const int32_t stream = make_stream(0);
  const int32_t module = make_loaded_module(0, image);
  check_kernels_are_loaded(module);
  check_blocks_at_once(module, stream);
  check_capture(module, stream);
  check_status(gs.gs_module_destroy(module), 0, "gs_module_destroy()");
  check_ends(image, stream);
  check_races(image, stream);
  gs.gs_stream_destroy(stream);
  check(tally() == before, "they leave nothing behind");
}

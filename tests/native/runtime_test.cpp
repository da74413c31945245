// Exercises the CUDA runtime of the host device.
//
//   c++ -std=c++17 -Icsrc -Icsrc/host/include tests/native/runtime_test.cpp
//       tests/native/runtime/*.cpp csrc/host/*/*.cpp -pthread
//
// Prints one line per check and exits with 1 when one failed. Arguments with a slash are the paths
// of the modules that some suites load (runtime/module_files.h). Another one names the one suite to
// run; without it all run, in an order in which those that lose devices come late.
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "host/device/device.h"
#include "runtime/check.h"
#include "runtime/module_files.h"
#include "runtime/suites.h"
#include "runtime/visible_child.h"

using namespace runtime_test;

namespace {

struct Suite {
  const char* name;
  void (*run)();
};

constexpr Suite suites[] = {
    {"devices", check_devices},
    {"visibility", check_visibility},
    {"device memory", check_device_memory},
    {"registered memory", check_registered_memory},
    {"linear copies", check_linear_copies},
    {"pitched copies", check_pitched_copies},
    {"fills", check_fills},
    {"streams", check_streams},
    {"legacy stream", check_legacy_stream},
    {"events", check_events},
    {"launches", check_launches},
    {"virtual addresses", check_virtual_addresses},
    {"physical memory", check_physical_memory},
    {"mappings", check_mappings},
    {"virtual access", check_virtual_access},
    {"virtual copies", check_virtual_copies},
    {"virtual capacity", check_virtual_capacity},
    {"virtual threads", check_virtual_threads},
    {"threads", check_threads},
    {"random graphs", check_random_graphs},
    {"captures", check_captures},
    {"graphs", check_graphs},
    {"captured work", check_captured_work},
    {"modules", check_modules},
    {"module images", check_module_images},
    {"cooperative launches", check_cooperative_launches},
    {"leaks", check_leaks},
    {"faults", check_faults},
    {"graph faults", check_graph_faults},
    {"virtual faults", check_virtual_faults},
    {"module faults", check_module_faults},
    {"lost kernels", check_lost_kernels},
    {"cooperative faults", check_cooperative_faults},
};

int run_suites(const char* wanted) {
  int ran = 0;
  for (const Suite& suite : suites) {
    if (wanted != nullptr && std::strcmp(wanted, suite.name) != 0) continue;
    begin_suite(suite.name);
    suite.run();
    ++ran;
  }
  return ran;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const char* wanted = nullptr;
  std::vector<std::string> modules;
  for (int i = 1; i < argument_count; ++i) {
    if (std::strchr(arguments[i], '/') != nullptr) {
      modules.push_back(arguments[i]);
    } else {
      wanted = arguments[i];
    }
  }
  if (wanted != nullptr && is_child_role(wanted)) return run_child(wanted);
  set_program_path(arguments[0]);
  const std::vector<double> topology = test_topology();
  if (gridstride::host::set_topology(topology.data(), device_total) != 0) {
    std::fprintf(stderr, "the test topology was not accepted\n");
    return 2;
  }
  set_module_paths(std::move(modules));
  if (run_suites(wanted) == 0) {
    std::fprintf(stderr, "no suite is named %s\n", wanted);
    return 2;
  }
  std::printf("%d failed\n", failure_count());
  return failure_count() == 0 ? 0 : 1;
}

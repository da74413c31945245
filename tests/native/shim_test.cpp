// Exercises the whole C ABI of a built library, given as the first argument; for the host library
// module_kernels.cu, compiled, may be given as the second.
//
//   c++ -std=c++17 -Icsrc tests/native/shim_test.cpp tests/native/shim/*.cpp -ldl -pthread
//
// Prints one line per check and exits with 1 when one failed. With a library that finds no device
// (the CUDA library on a machine without a driver) it proves that every function answers with a
// status and none crashes; with devices, what the functions do. The sources of the library may be
// linked together with tests/native/shim/*.cu, which adds what only a test needs: kernels for every
// type of argument, and memory that the shim did not allocate.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "shim/check.h"
#include "shim/module_stage.h"
#include "shim/suites.h"

Library gs;
gs_command_block block;
std::string module_file;

Library Library::open(const char* path) {
  // Global, as a module for its host device that is built here names no library that it needs.
  void* opened = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (opened == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  Library library;
#define GS_FIND(function)                                                               \
  library.function = reinterpret_cast<decltype(&::function)>(dlsym(opened, #function)); \
  if (library.function == nullptr) {                                                    \
    std::fprintf(stderr, "%s lacks %s\n", path, #function);                             \
    std::exit(2);                                                                       \
  }
  GS_FUNCTIONS(GS_FIND)
#undef GS_FIND
  library.foreign_allocate = reinterpret_cast<decltype(library.foreign_allocate)>(
      dlsym(opened, "gs_test_foreign_allocate"));
  library.foreign_free =
      reinterpret_cast<decltype(library.foreign_free)>(dlsym(opened, "gs_test_foreign_free"));
  library.declared_block =
      reinterpret_cast<decltype(library.declared_block)>(dlsym(opened, "gs_test_declared_block"));
  return library;
}

int main(int argument_count, char** arguments) {
  // A crash must not take the lines before it along.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argument_count != 2 && argument_count != 3) {
    std::fprintf(stderr, "usage: %s LIBRARY [MODULE]\n", arguments[0]);
    return 2;
  }
  if (argument_count == 3) module_file = arguments[2];
  gs = Library::open(arguments[1]);
  check_abi();
  check_topology();
  check_module_images();
  double devices = 0;
  const int32_t status = gs.gs_device_count(&devices);
  if (status != 0 || devices == 0) {
    skip("what needs a device: " + status_name(status));
  } else {
    check_devices();
    check_handles();
    check_memory();
    check_virtual_memory();
    check_virtual_failures();
    check_declared_blocks();
    check_pressure();
    check_copies();
    check_foreign_memory();
    check_pitched_copies();
    check_pinned();
    check_files();
    check_streams_and_events();
    check_launches();
    check_modules();
    check_module_launches();
    check_injection();
    if (devices >= 2) {
      check_two_devices();
      check_virtual_peers();
      check_modules_of_two_devices();
      check_faults();
    } else {
      skip("what needs two devices: there is one");
    }
  }
  std::printf("%d failed\n", failures());
  return failures() == 0 ? 0 : 1;
}

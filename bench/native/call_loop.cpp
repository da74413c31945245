// The same calls from a C loop: what the benchmarks of calls through Deno's FFI are compared with.
//
// The loops call the native library through opaque pointers, as any C program would, and on the
// JavaScript thread, which owns the command block. Addresses cross as doubles, as in
// csrc/gridstride.h. A loop returns the first status that is not 0.
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "gridstride.h"

#define BENCH_API extern "C" __attribute__((visibility("default")))

namespace {

using HotFunction = int32_t (*)(void);
using AttributeFunction = int32_t (*)(int32_t, int32_t, double*);

template <class Function>
Function function_at(double address) {
  return reinterpret_cast<Function>(static_cast<uintptr_t>(address));
}

template <class Body>
int32_t repeat(int32_t count, const Body& body) {
  int32_t failure = 0;
  for (int32_t turn = 0; turn < count; turn++) {
    const int32_t status = body();
    if (failure == 0) failure = status;
    // Nothing of one turn may be left out or moved into another.
    asm volatile("" ::: "memory");
  }
  return failure;
}

}  // namespace

// result[0]: the address of an exported function of a library that the process has loaded.
// Returns -1 if there is no such library or function.
BENCH_API int32_t bench_find(const char* library, const char* function, double* result) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  void* const address = handle == nullptr ? nullptr : dlsym(handle, function);
  if (address == nullptr) return -1;
  result[0] = static_cast<double>(reinterpret_cast<uintptr_t>(address));
  return 0;
}

// What a call costs at least.
BENCH_API int32_t bench_nothing(void) { return 0; }

// A function without parameters: its operands lie in the command block.
BENCH_API int32_t bench_call(double function, int32_t count) {
  const auto call = function_at<HotFunction>(function);
  return repeat(count, [&] { return call(); });
}

// The same, writing one operand before each call.
BENCH_API int32_t bench_call_with_operand(double function, gs_command_block* block, double operand,
                                          int32_t count) {
  const auto call = function_at<HotFunction>(function);
  return repeat(count, [&] {
    block->operand[0] = operand;
    return call();
  });
}

// gs_device_attribute: parameters by value, one of them a buffer.
BENCH_API int32_t bench_call_attribute(double function, int32_t device, int32_t attribute,
                                       double* result, int32_t count) {
  const auto call = function_at<AttributeFunction>(function);
  return repeat(count, [&] { return call(device, attribute, result); });
}

// gs_memory_allocate, and gs_memory_free of its result.
BENCH_API int32_t bench_allocate_free(double allocate, double free, gs_command_block* block,
                                      double bytes, int32_t count) {
  const auto call_allocate = function_at<HotFunction>(allocate);
  const auto call_free = function_at<HotFunction>(free);
  return repeat(count, [&] {
    block->operand[0] = bytes;
    const int32_t status = call_allocate();
    if (status != 0) return status;
    block->operand[0] = block->result[0];
    return call_free();
  });
}

// memcpy between two pieces of JavaScript memory.
BENCH_API int32_t bench_copy(void* destination, const void* source, double bytes, int32_t count) {
  return repeat(count, [&] {
    memcpy(destination, source, static_cast<size_t>(bytes));
    return 0;
  });
}

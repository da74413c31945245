// What a launch needs to know of a kernel, made from the type of the function alone.
//
// The address of a descriptor is what cudaLaunchKernel receives as `func` on the host device.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <utility>

#include "context_switch.h"
#include "qualifiers.h"
#include "special_registers.h"

namespace gridstride::host {

// Kernels are compiled against BlockRegisters, LaneSlot and the switch; one number stands for the
// layouts of all three. Raise the version when one of them changes.
inline constexpr uint32_t kernel_contract = 3 << 8;

struct KernelDescriptor {
  const char* name;
  // Runs the kernel for the block's next thread, again and again. It does not return: the fiber it
  // runs on is left when the block has no thread to give it.
  void (*run_threads)(void** arguments);
  uint32_t parameter_count;
  const uint32_t* parameter_sizes;
  const uint32_t* parameter_alignments;
  // Touches the thread-local storage that holds the __shared__ arrays of the kernel's library, so
  // that it is allocated on the worker's own stack and not in the middle of a kernel.
  void* (*module_anchor)();
  // Where the code of the kernel's library lies.
  const char* code_start;
  const char* code_end;
  uint32_t contract;
  // How much the __shared__ arrays of this kernel take; 0 where that is not known. A compiler puts
  // the thread-local arrays of all kernels of a library in one segment and offers no query for the
  // arrays of one kernel: kernel_descriptor() therefore says 0. Of the kernels of a module the
  // runtime reads it in the symbols of the library (csrc/host/module/static_shared.h).
  uint32_t static_shared_bytes;
  // The descriptor registered before this one.
  const KernelDescriptor* registered_before;
};

}  // namespace gridstride::host

// The library's own, from its linker.
#if defined(__linux__)
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start;
extern "C" __attribute__((visibility("hidden"))) const char __etext;
#define GS_HOST_CODE_RANGE &__ehdr_start, &__etext
#else
#define GS_HOST_CODE_RANGE nullptr, nullptr
#endif

// Ends the calling thread. Returns when its fiber has another thread of the block to run.
GS_HOST_API void gs_host_finish_thread(void);

// Makes a launch of this descriptor valid. Allocates nothing: it runs before main().
GS_HOST_API void gs_host_register_kernel(gridstride::host::KernelDescriptor* descriptor);

namespace gridstride::host {

// Goes to the block's next thread. As long as no thread of the block has parked, that is a step of
// the indices and the kernel is a plain loop; the call is for everything else.
GS_HOST_INLINE void finish_thread() {
  BlockRegisters* registers = block_registers();
  if (__builtin_expect(registers->plain_remaining == 0, 0)) {
    gs_host_finish_thread();
    return;
  }
  --registers->plain_remaining;
  registers->spin_count = 0;
  uint3& index = registers->thread_index;
  if (++index.x != registers->block_dimension.x) return;
  index.x = 0;
  if (++index.y != registers->block_dimension.y) return;
  index.y = 0;
  ++index.z;
}

// One per library: an inline function of default visibility could be another library's.
__attribute__((visibility("hidden"))) inline void* module_anchor() {
  // 128 bytes: banks of shared memory are counted from the start of this segment.
  static GS_HOST_CONSTANT_INITIAL thread_local __attribute__((aligned(128))) char anchor[128] = {};
  return anchor;
}

template <auto Kernel, typename... Parameters>
struct KernelThunk {
  // The trailing 0 lets a kernel without parameters have arrays too.
  static constexpr uint32_t sizes[] = {static_cast<uint32_t>(sizeof(Parameters))..., 0};
  static constexpr uint32_t alignments[] = {static_cast<uint32_t>(alignof(Parameters))..., 0};

  // The copies are per fiber: the compiler keeps parameters in registers over the loop.
  GS_HOST_FLATTEN static void loop(Parameters... parameters) {
    for (;;) {
      Kernel(parameters...);
      finish_thread();
    }
  }

  template <size_t... Index>
  static void unpack(void** arguments, std::index_sequence<Index...>) {
    (void)arguments;
    loop(*static_cast<const Parameters*>(arguments[Index])...);
  }

  static void run_threads(void** arguments) {
    unpack(arguments, std::index_sequence_for<Parameters...>{});
  }

  // The facts in the kernel's type. Constant: a table of kernels needs no code.
  static constexpr KernelDescriptor nameless{nullptr,
                                             &run_threads,
                                             static_cast<uint32_t>(sizeof...(Parameters)),
                                             sizes,
                                             alignments,
                                             &module_anchor,
                                             GS_HOST_CODE_RANGE,
                                             kernel_contract,
                                             0,
                                             nullptr};

  static const KernelDescriptor* descriptor(const char* name) {
    static KernelDescriptor made = named(name);
    static const bool registered = (gs_host_register_kernel(&made), true);
    (void)registered;
    return &made;
  }

 private:
  static KernelDescriptor named(const char* name) {
    KernelDescriptor made = nameless;
    made.name = name;
    return made;
  }
};

template <auto Kernel, typename Type>
struct KernelThunkOf;
template <auto Kernel, typename... Parameters>
struct KernelThunkOf<Kernel, void (*)(Parameters...)> : KernelThunk<Kernel, Parameters...> {};
template <auto Kernel, typename... Parameters>
struct KernelThunkOf<Kernel, void (*)(Parameters...) noexcept>
    : KernelThunk<Kernel, Parameters...> {};

// The descriptor of a kernel. There is one for each function: the name given first stays.
template <auto Kernel>
inline const KernelDescriptor* kernel_descriptor(const char* name) {
  return KernelThunkOf<Kernel, decltype(Kernel)>::descriptor(name);
}

}  // namespace gridstride::host

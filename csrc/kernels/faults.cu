/*
 * faults.cu — kernels that fail on purpose, for the tests of fault reports. Each makes the device
 * unusable for its process (on a GPU) or its device (on the host device): launch them in a process
 * of their own.
 *
 *   kernel                 host device                   GPU
 *   fault_null_write       illegal address               illegal address
 *   fault_out_of_bounds    illegal address               illegal address, if no allocation is there
 *   fault_divide_by_zero   launch failure (x86 traps)    no fault: the quotient is unspecified
 *   fault_trap             launch failure                launch failure
 *   fault_assert           assert                        assert
 *   fault_stack_overflow   illegal address               illegal address or a stack error
 *   fault_deadlock         launch failure (reported)     never ends: not for a GPU
 */
// The assertion is the point of fault_assert, so a release build must not drop it.
#undef NDEBUG
#include <assert.h>
#include <cuda_runtime.h>

#include "shim/launch/kernel_registry.h"

namespace gridstride::diagnostics {

// address is null; a parameter, as compilers replace a store to a literal null by a trap.
__global__ void fault_null_write(float* address) { *address = 1.0f; }

// index lies outside of x.
__global__ void fault_out_of_bounds(float* x, unsigned long long index) { x[index] = 1.0f; }

// divisor is 0.
__global__ void fault_divide_by_zero(int* out, int divisor) {
  *out = static_cast<int>(threadIdx.x + 1) / divisor;
}

__global__ void fault_trap() { __trap(); }

// condition is 0.
__global__ void fault_assert(int condition) { assert(condition != 0); }

// A frame of 256 bytes per level, which is read after the call: the recursion cannot become a loop.
// CUDA gives a thread a stack of a KiB, which the first levels must fit into.
__device__ int descend(int depth) {
  volatile int frame[64];
  frame[depth % 64] = depth;
  const int below = depth == 0 ? 0 : descend(depth - 1);
  return below + frame[depth % 64];
}

__global__ void fault_stack_overflow(int* out, int depth) { *out = descend(depth); }

// Lane 0 waits for the block and the other lanes of its warp wait for lane 0. Blocks of whole
// warps, because a lone lane would not wait.
__global__ void fault_deadlock() {
  if (threadIdx.x % 32 == 0) {
    __syncthreads();
  } else {
    __syncwarp();
  }
  __syncthreads();
}

GS_KERNEL("fault_null_write", fault_null_write);
GS_KERNEL("fault_out_of_bounds", fault_out_of_bounds);
GS_KERNEL("fault_divide_by_zero", fault_divide_by_zero);
GS_KERNEL("fault_trap", fault_trap);
GS_KERNEL("fault_assert", fault_assert);
GS_KERNEL("fault_stack_overflow", fault_stack_overflow);
GS_KERNEL("fault_deadlock", fault_deadlock);

}  // namespace gridstride::diagnostics

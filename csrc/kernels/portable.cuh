// The differences between nvcc and the host device in device code. Kernels include this in place
// of the CUDA headers, and need no #ifdef of their own.
#ifndef GRIDSTRIDE_PORTABLE_CUH
#define GRIDSTRIDE_PORTABLE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// GS_DYNAMIC_SHARED(type, name); declares `type* name`, the block's dynamic shared memory. All
// kernels of a source file share it, so nvcc must see one declaration of one type for all of
// them.
#if defined(__CUDASIM__)
#define GS_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::gridstride::host::dynamic_shared_memory())
#else
#define GS_DYNAMIC_SHARED(type, name)                                        \
  extern __shared__ __align__(16) unsigned char gridstride_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(gridstride_dynamic_shared)
#endif

// GS_UNROLL unrolls the following loop of a constant number of steps completely. g++ requires a
// number.
#if defined(__CUDACC__) || defined(__clang__)
#define GS_UNROLL _Pragma("unroll")
#else
#define GS_UNROLL _Pragma("GCC unroll 64")
#endif

// Stores 16 bytes of global memory by one plain instruction. Compilers split an assignment of words
// that were assembled in registers, and __stwb() orders its store for the whole multiprocessor.
namespace gridstride::device_code {

__device__ __forceinline__ void store_packet(uint4* destination, uint4 words) {
#if defined(__CUDASIM__)
  *destination = words;
#else
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(
                   __cvta_generic_to_global(destination)),
               "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
#endif
}

// Counters in shared memory. Compilers compute the address of an array there anew for each access,
// with its place in the cluster's window; this one is computed once.
class SharedCounters {
 public:
  __device__ __forceinline__ explicit SharedCounters(unsigned int* counters)
#if defined(__CUDASIM__)
      : counters_(counters) {
  }
#else
      : address_(static_cast<unsigned int>(__cvta_generic_to_shared(counters))) {
    asm volatile("" : "+r"(address_));
  }
#endif

  __device__ __forceinline__ void increment(unsigned int index) const {
#if defined(__CUDASIM__)
    atomicAdd(&counters_[index], 1u);
#else
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address_ + 4 * index) : "memory");
#endif
  }

 private:
#if defined(__CUDASIM__)
  unsigned int* counters_;
#else
  unsigned int address_;
#endif
};

}  // namespace gridstride::device_code

#endif

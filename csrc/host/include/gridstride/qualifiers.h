// The qualifiers of the CUDA kernel language, as a C++17 compiler understands them.
//
// `__CUDACC__` and `__CUDA_ARCH__` stay undefined in these headers and in built-in kernels, which
// test `__CUDASIM__`; a user's source is compiled with both.
#pragma once

#define __CUDASIM__ 1

// ---- where g++ and clang++ differ: the one table ---------------------------------------------
//
//                               g++                       clang++
//   GS_HOST_CONSTANT_INITIAL    __constinit               nothing: its attribute refuses arrays
//                                                         of structures with trivial constructors
//   GS_HOST_FLATTEN             flatten                   flatten (no warning where it fails)
//   GS_HOST_STAYS_IN_PLACE      nothing: it has no such   calls in different branches are not made
//                               attribute                 one, nor one call several
//
// A `__shared__` array must need no constructor call: a thread_local with one gets a guard variable
// and a wrapper function, both of which cost every access. __constinit turns that into an error.
#if defined(__clang__)
#define GS_HOST_CONSTANT_INITIAL
#define GS_HOST_FLATTEN __attribute__((flatten))
#define GS_HOST_STAYS_IN_PLACE __attribute__((convergent, nomerge))
#elif defined(__GNUC__)
#define GS_HOST_CONSTANT_INITIAL __constinit
#define GS_HOST_FLATTEN __attribute__((flatten))
#define GS_HOST_STAYS_IN_PLACE
#else
#error "the host device needs g++ or clang++"
#endif

// What the runtime gives to kernels, also to kernels in a library opened later.
#define GS_HOST_API extern "C" __attribute__((visibility("default")))
#define GS_HOST_INLINE inline __attribute__((always_inline))

// ---- functions -------------------------------------------------------------------------------

#define __host__
#define __device__

// A kernel is inlined into the loop over the threads of a block, and its callees into the kernel: a
// call per thread would cost more than many kernels do.
#define __global__ GS_HOST_FLATTEN

#ifndef __forceinline__
#define __forceinline__ GS_HOST_INLINE
#endif
#ifndef __inline_hint__
#define __inline_hint__
#endif

#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)

// ---- variables -------------------------------------------------------------------------------

// One address space: device and constant memory are the process's own.
#define __constant__
#define __managed__
#define __grid_constant__

// A block runs on one OS thread and an OS thread runs one block at a time: an instance per OS
// thread is an instance per block. At function scope thread_local implies static, as in CUDA.
#define __shared__ GS_HOST_CONSTANT_INITIAL thread_local

// Not alignas, which may not follow a storage class.
#define __align__(bytes) __attribute__((aligned(bytes)))

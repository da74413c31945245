// Before a header of libcu++, which then takes the compiler for one of hosts: end.h
// restores the macros. Without an include guard.

#include <sched.h>
#include <time.h>

#if !defined(GS_HOST_LIBCUDACXX)
#define GS_HOST_LIBCUDACXX
// A toolkit's own headers of these types do not fit to this folder.
#define CCCL_DISABLE_NVFP6_SUPPORT
#define CCCL_DISABLE_NVFP4_SUPPORT
// Its loops that wait for other threads yield by these. A thread of a block has no OS thread of its
// own.
inline int gs_host_sched_yield() { return __nanosleep(0), 0; }
inline int gs_host_sleep(const timespec*, timespec*) { return __nanosleep(0), 0; }
#endif

#pragma push_macro("__CUDACC__")
#pragma push_macro("__CUDA_ARCH__")
#pragma push_macro("alignas")
#pragma push_macro("asm")
#pragma push_macro("sched_yield")
#pragma push_macro("nanosleep")
#undef __CUDACC__
#undef __CUDA_ARCH__
#undef alignas
#undef asm
#define sched_yield gs_host_sched_yield
#define nanosleep gs_host_sleep

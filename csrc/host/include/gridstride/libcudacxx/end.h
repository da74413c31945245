// Behind a header of libcu++: the macros that begin.h has changed.
#pragma pop_macro("nanosleep")
#pragma pop_macro("sched_yield")
#pragma pop_macro("asm")
#pragma pop_macro("alignas")
#pragma pop_macro("__CUDA_ARCH__")
#pragma pop_macro("__CUDACC__")

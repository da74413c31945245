/* elementwise.cu in the block form, for the host device. */
#include <cuda_runtime.h>

#if defined(__CUDASIM__)
#define GS_BLOCK_FORM 1
#include "kernels/elementwise.cu"
#endif

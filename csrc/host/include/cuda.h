// The part of CUDA's driver API that code over the runtime API needs: its types, and the fills by
// 16- and 32-bit elements, which the runtime API lacks. They act on the calling thread's current
// runtime device, as CUDA's do on the primary context.
#ifndef GRIDSTRIDE_HOST_CUDA_H
#define GRIDSTRIDE_HOST_CUDA_H

#include <stddef.h>

#include "gridstride/runtime_types.h"

#define CUDA_VERSION 13000

// The numbers are those of cudaError_t, which extends this enumeration.
typedef enum cudaError_enum : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;

extern "C" {

// count elements, not bytes; destination aligned to the element.
CUresult cuMemsetD16Async(CUdeviceptr destination, unsigned short value, size_t count,
                          CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned int value, size_t count,
                          CUstream stream);

}  // extern "C"

#endif

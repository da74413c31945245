// The one wrapper around every CUDA call the shim makes. It counts the call, or fails it if a test
// has injected a failure, and turns CUDA's result into a status.
//
//   GS_CALL(cudaMalloc, &address, bytes);                    throws a Failure that names the call
//   if (GS_ATTEMPT(cudaStreamQuery, stream) == …)            where a failure may be an answer
//
// cudaGetLastError is not wrapped: it is part of the wrapper. Nor is what only restores a thread's
// state; see relaxed_capture.h.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>

#include "shim/guard.h"

// Every wrapped call. The order gives the ids of gs_call_name, from 1.
#define GS_CALLS(CALL)                                \
  CALL(cudaDriverGetVersion)                          \
  CALL(cudaRuntimeGetVersion)                         \
  CALL(cudaGetDeviceCount)                            \
  CALL(cudaSetDevice)                                 \
  CALL(cudaDeviceGetAttribute)                        \
  CALL(cudaGetDeviceProperties)                       \
  CALL(cudaDeviceGetPCIBusId)                         \
  CALL(cudaMemGetInfo)                                \
  CALL(cudaDeviceSynchronize)                         \
  CALL(cudaDeviceCanAccessPeer)                       \
  CALL(cudaDeviceEnablePeerAccess)                    \
  CALL(cudaMalloc)                                    \
  CALL(cudaFree)                                      \
  CALL(cudaPointerGetAttributes)                      \
  CALL(cudaHostRegister)                              \
  CALL(cudaHostUnregister)                            \
  CALL(cudaMemsetAsync)                               \
  CALL(cuMemsetD16Async)                              \
  CALL(cuMemsetD32Async)                              \
  CALL(cuDeviceGetAttribute)                          \
  CALL(cuMemGetAllocationGranularity)                 \
  CALL(cuMemAddressReserve)                           \
  CALL(cuMemAddressFree)                              \
  CALL(cuMemCreate)                                   \
  CALL(cuMemRelease)                                  \
  CALL(cuMemMap)                                      \
  CALL(cuMemUnmap)                                    \
  CALL(cuMemSetAccess)                                \
  CALL(cudaMemcpyAsync)                               \
  CALL(cudaMemcpy2DAsync)                             \
  CALL(cudaMemcpyPeerAsync)                           \
  CALL(cudaDeviceGetStreamPriorityRange)              \
  CALL(cudaStreamCreateWithPriority)                  \
  CALL(cudaStreamGetDevice)                           \
  CALL(cudaStreamDestroy)                             \
  CALL(cudaStreamQuery)                               \
  CALL(cudaStreamWaitEvent)                           \
  CALL(cudaStreamSynchronize)                         \
  CALL(cudaStreamBeginCapture)                        \
  CALL(cudaStreamEndCapture)                          \
  CALL(cudaStreamIsCapturing)                         \
  CALL(cudaStreamGetCaptureInfo)                      \
  CALL(cudaStreamUpdateCaptureDependencies)           \
  CALL(cudaThreadExchangeStreamCaptureMode)           \
  CALL(cudaEventCreateWithFlags)                      \
  CALL(cudaEventDestroy)                              \
  CALL(cudaEventRecord)                               \
  CALL(cudaEventQuery)                                \
  CALL(cudaEventSynchronize)                          \
  CALL(cudaEventElapsedTime)                          \
  CALL(cudaGraphGetNodes)                             \
  CALL(cudaGraphAddChildGraphNode)                    \
  CALL(cudaGraphInstantiateWithFlags)                 \
  CALL(cudaGraphLaunch)                               \
  CALL(cudaGraphExecDestroy)                          \
  CALL(cudaGraphDestroy)                              \
  CALL(cudaFuncGetAttributes)                         \
  CALL(cudaFuncSetAttribute)                          \
  CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor) \
  CALL(cudaLaunchKernel)                              \
  CALL(cudaLaunchKernelExC)                           \
  CALL(cudaLibraryLoadData)                           \
  CALL(cudaLibraryUnload)                             \
  CALL(cudaLibraryGetKernelCount)                     \
  CALL(cudaLibraryEnumerateKernels)                   \
  CALL(cudaLibraryGetKernel)                          \
  CALL(cudaLibraryGetGlobal)                          \
  CALL(cuLibraryGetModule)                            \
  CALL(cuKernelGetName)                               \
  CALL(cuKernelGetParamInfo)                          \
  CALL(cudaGetKernel)                                 \
  CALL(cuKernelGetFunction)                           \
  CALL(cuFuncLoad)                                    \
  CALL(cuFuncIsLoaded)                                \
  CALL(cuCtxGetCurrent)                               \
  CALL(cuCtxRecordEvent)                              \
  CALL(nvmlInit_v2)                                   \
  CALL(nvmlDeviceGetHandleByUUID)                     \
  CALL(nvmlDeviceGetMemoryInfo)                       \
  CALL(nvmlDeviceGetUtilizationRates)                 \
  CALL(nvmlDeviceGetTemperature)                      \
  CALL(nvmlDeviceGetPowerUsage)                       \
  CALL(nvmlDeviceGetEnforcedPowerLimit)               \
  CALL(nvmlDeviceGetClockInfo)                        \
  CALL(nvmlDeviceGetCurrentClocksEventReasons)        \
  CALL(nvrtcVersion)                                  \
  CALL(nvrtcGetNumSupportedArchs)                     \
  CALL(nvrtcGetSupportedArchs)                        \
  CALL(nvrtcCreateProgram)                            \
  CALL(nvrtcAddNameExpression)                        \
  CALL(nvrtcCompileProgram)                           \
  CALL(nvrtcGetProgramLogSize)                        \
  CALL(nvrtcGetProgramLog)                            \
  CALL(nvrtcGetPTXSize)                               \
  CALL(nvrtcGetPTX)                                   \
  CALL(nvrtcGetCUBINSize)                             \
  CALL(nvrtcGetCUBIN)                                 \
  CALL(nvrtcGetLoweredName)                           \
  CALL(nvrtcDestroyProgram)                           \
  CALL(cublasLtCreate)                                \
  CALL(cublasLtMatmulDescCreate)                      \
  CALL(cublasLtMatmulDescSetAttribute)                \
  CALL(cublasLtMatrixLayoutCreate)                    \
  CALL(cublasLtMatrixLayoutSetAttribute)              \
  CALL(cublasLtMatmulPreferenceCreate)                \
  CALL(cublasLtMatmulPreferenceSetAttribute)          \
  CALL(cublasLtMatmulAlgoGetHeuristic)                \
  CALL(cublasLtMatmul)

namespace gridstride {

#define GS_CALL_KIND(function) function,
enum class CallKind : int32_t { none, GS_CALLS(GS_CALL_KIND) count };
#undef GS_CALL_KIND

constexpr int32_t call_kind_count = static_cast<int32_t>(CallKind::count) - 1;

// A cache line each: several threads launch and copy at once.
struct alignas(64) CallCounter {
  std::atomic<uint64_t> made{0};
};

extern CallCounter call_counters[call_kind_count + 1];

// How many injections are held. While there are none this load is all that injection costs.
extern std::atomic<int32_t> injections_held;

// The status that an injection gives the coming call of this kind, or 0 when it is to be made.
int32_t injected_status(CallKind kind);

// The status of a CUDA call that failed; empties CUDA's own last-error slot.
int32_t settle_failed_call(cudaError_t code);

// The runtime and the driver number their errors alike.
inline int32_t status_of(cudaError_t code) {
  return __builtin_expect(code == cudaSuccess, 1) ? 0 : settle_failed_call(code);
}
inline int32_t status_of(CUresult code) { return status_of(static_cast<cudaError_t>(code)); }

[[noreturn]] void fail_call(CallKind kind, int32_t status);

// `make` makes the call and returns cudaError_t, CUresult, or something with a status_of() of its
// own in this namespace.
template <class Make>
int32_t attempt(CallKind kind, const Make& make) {
  call_counters[static_cast<int32_t>(kind)].made.fetch_add(1, std::memory_order_relaxed);
  if (__builtin_expect(injections_held.load(std::memory_order_relaxed) != 0, 0)) {
    const int32_t injected = injected_status(kind);
    if (injected != 0) return injected;
  }
  return status_of(make());
}

template <class Make>
void call(CallKind kind, const Make& make) {
  const int32_t status = attempt(kind, make);
  if (__builtin_expect(status != 0, 0)) fail_call(kind, status);
}

}  // namespace gridstride

#define GS_ATTEMPT(function, ...) \
  ::gridstride::attempt(::gridstride::CallKind::function, [&] { return function(__VA_ARGS__); })

#define GS_CALL(function, ...) \
  ::gridstride::call(::gridstride::CallKind::function, [&] { return function(__VA_ARGS__); })

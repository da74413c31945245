// Names and texts of statuses: the shim's own, NVRTC's and cuBLAS's from tables, CUDA's from CUDA.
#include <cuda_runtime_api.h>

#include "gridstride.h"
#include "shim/guard.h"

namespace gridstride {

namespace {

struct StatusText {
  int32_t status;
  const char* name;
  const char* text;
};

#define GS_STATUS(name, text) {name, #name, text}
constexpr StatusText own_statuses[] = {
    GS_STATUS(GS_ERROR_ARGUMENT, "a value is not an integer of the allowed range"),
    GS_STATUS(GS_ERROR_HANDLE, "a handle is stale, forged or of another kind"),
    GS_STATUS(GS_ERROR_DEVICE, "no device has this ordinal"),
    GS_STATUS(GS_ERROR_NO_BLOCK, "this thread has registered no command block"),
    GS_STATUS(GS_ERROR_ALIGNMENT, "an address or a block is not aligned as it must be"),
    GS_STATUS(GS_ERROR_OVERLAP, "source and destination of a copy overlap"),
    GS_STATUS(GS_ERROR_UNSUPPORTED, "this library or device has no such capability"),
    GS_STATUS(GS_ERROR_CAPACITY, "an out-buffer is too small or a table is full"),
    GS_STATUS(GS_ERROR_NOT_FOUND, "no kernel, call or function has this name"),
    GS_STATUS(GS_ERROR_HOST_MEMORY, "the host has no memory left for the request"),
    GS_STATUS(GS_ERROR_FOREIGN, "a handle belongs to another device than the call names"),
    GS_STATUS(GS_ERROR_CONFIGURED, "the host topology is already set differently"),
    GS_STATUS(GS_ERROR_SYSTEM, "an operating-system call failed"),
    GS_STATUS(GS_ERROR_INTERNAL, "a defect of this library"),
    GS_STATUS(GS_ERROR_LAUNCH, "arguments disagree with the kernel: their count or sizes"),
    GS_STATUS(GS_ERROR_IMAGE, "machine code of another kind, version or device"),
};
#undef GS_STATUS

// The results of NVRTC up to CUDA 13.0. NVRTC itself has names for them and no texts.

#define GS_NVRTC_STATUS(result, name, text) {GS_ERROR_NVRTC(result), #name, text}
constexpr StatusText nvrtc_statuses[] = {
    GS_NVRTC_STATUS(1, NVRTC_ERROR_OUT_OF_MEMORY, "the compiler has no memory left"),
    GS_NVRTC_STATUS(2, NVRTC_ERROR_PROGRAM_CREATION_FAILURE, "the compiler cannot take a program"),
    GS_NVRTC_STATUS(3, NVRTC_ERROR_INVALID_INPUT, "the compiler refuses an argument"),
    GS_NVRTC_STATUS(4, NVRTC_ERROR_INVALID_PROGRAM, "the compiler has no such program"),
    GS_NVRTC_STATUS(5, NVRTC_ERROR_INVALID_OPTION, "the compiler does not know an option"),
    GS_NVRTC_STATUS(6, NVRTC_ERROR_COMPILATION, "the source does not compile"),
    GS_NVRTC_STATUS(7, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE,
                    "the compiler cannot use its library of builtins"),
    GS_NVRTC_STATUS(8, NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION,
                    "a name expression came after the compilation"),
    GS_NVRTC_STATUS(9, NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION,
                    "a lowered name was asked for before the compilation"),
    GS_NVRTC_STATUS(10, NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
                    "a name expression names no kernel or variable of the program"),
    GS_NVRTC_STATUS(11, NVRTC_ERROR_INTERNAL_ERROR, "a defect of the compiler"),
    GS_NVRTC_STATUS(12, NVRTC_ERROR_TIME_FILE_WRITE_FAILED,
                    "the compiler cannot write the file of its timings"),
    GS_NVRTC_STATUS(13, NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED,
                    "no precompiled header was to be made"),
    GS_NVRTC_STATUS(14, NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED,
                    "there is no room left for precompiled headers"),
    GS_NVRTC_STATUS(15, NVRTC_ERROR_PCH_CREATE, "a precompiled header cannot be made"),
    GS_NVRTC_STATUS(16, NVRTC_ERROR_CANCELLED, "the compilation was cancelled"),
    GS_NVRTC_STATUS(17, NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED,
                    "the compiler cannot write the file of its trace"),
};
#undef GS_NVRTC_STATUS

// The statuses of cuBLAS 13.1, which has names for them too, but may not be there.

#define GS_CUBLAS_STATUS(status, name, text) {GS_ERROR_CUBLASLT(status), #name, text}
constexpr StatusText cublas_statuses[] = {
    GS_CUBLAS_STATUS(1, CUBLAS_STATUS_NOT_INITIALIZED, "cuBLAS cannot start on the device"),
    GS_CUBLAS_STATUS(3, CUBLAS_STATUS_ALLOC_FAILED, "cuBLAS has no memory left"),
    GS_CUBLAS_STATUS(7, CUBLAS_STATUS_INVALID_VALUE, "cuBLAS refuses an argument"),
    GS_CUBLAS_STATUS(8, CUBLAS_STATUS_ARCH_MISMATCH, "cuBLAS lacks code for the device"),
    GS_CUBLAS_STATUS(11, CUBLAS_STATUS_MAPPING_ERROR, "cuBLAS cannot reach memory of the device"),
    GS_CUBLAS_STATUS(13, CUBLAS_STATUS_EXECUTION_FAILED, "a kernel of cuBLAS cannot run"),
    GS_CUBLAS_STATUS(14, CUBLAS_STATUS_INTERNAL_ERROR, "a defect of cuBLAS"),
    GS_CUBLAS_STATUS(15, CUBLAS_STATUS_NOT_SUPPORTED, "cuBLAS does not do this"),
    GS_CUBLAS_STATUS(16, CUBLAS_STATUS_LICENSE_ERROR, "cuBLAS finds no licence"),
};
#undef GS_CUBLAS_STATUS

const StatusText& own_status(int32_t status) {
  for (const StatusText& own : own_statuses) {
    if (own.status == status) return own;
  }
  for (const StatusText& of_nvrtc : nvrtc_statuses) {
    if (of_nvrtc.status == status) return of_nvrtc;
  }
  for (const StatusText& of_cublas : cublas_statuses) {
    if (of_cublas.status == status) return of_cublas;
  }
  fail(GS_ERROR_ARGUMENT);
}

// CUDA names every number; those it does not know all get one name.
cudaError_t known_cuda_status(int32_t status) {
  const cudaError_t code = static_cast<cudaError_t>(status);
  const std::string_view name_of_unknown = cudaGetErrorName(static_cast<cudaError_t>(INT32_MAX));
  require(cudaGetErrorName(code) != name_of_unknown, GS_ERROR_ARGUMENT);
  return code;
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_status_name(int32_t status, char* text, int32_t capacity) {
  return guarded([&] {
    const char* name =
        status < 0 ? own_status(status).name : cudaGetErrorName(known_cuda_status(status));
    write_text(name, text, capacity);
  });
}

int32_t gs_status_text(int32_t status, char* text, int32_t capacity) {
  return guarded([&] {
    const char* sentence =
        status < 0 ? own_status(status).text : cudaGetErrorString(known_cuda_status(status));
    write_text(sentence, text, capacity);
  });
}

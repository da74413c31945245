// Names and texts of statuses: the shim's own and NVRTC's from tables, CUDA's from CUDA.
#include "shim/status_table.h"

#include <cuda_runtime_api.h>

#include "shim/module/nvrtc_status.h"
#include "shim/text.h"

namespace gridstride {

namespace {

const StatusText& own_status(int32_t status) {
  for (const StatusText& own : own_statuses) {
    if (own.status == status) return own;
  }
  for (const StatusText& of_nvrtc : nvrtc_statuses) {
    if (of_nvrtc.status == status) return of_nvrtc;
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
